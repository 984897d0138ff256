import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { toDate } from '../../platform/db/reads.ts'
import { readRows } from '../../platform/db/statements.ts'
import { rateLimited } from '../../errors.ts'
import { Upload } from './entity.ts'
import { isReceiving } from './service.ts'

/**
 * Reserves staging space of `bytes` for an upload, in addition to everything else the caller has staged. Requires `lockOwnUploads`. Deletes expired
 * uploads and returns the names of their staged bytes, which the caller must discard after the commit.
 * @throws ApiError RateLimitExceeded when the space is insufficient, with the time until enough other uploads have expired.
 */
export async function reserveSpace(em: EntityManager, context: SignedInContext, uploadId: string, bytes: number): Promise<string[]> {
  const now = context.now()
  const uploads = (await readRows<Row>(em, selectUnfinished, [context.viewer.id])).map(unfinishedOf)
  const [expired, live] = [uploads.filter((one) => isExpired(one, now)), uploads.filter((one) => !isExpired(one, now))]
  if (expired.length > 0) await em.nativeDelete(Upload, { id: { $in: expired.map(({ id }) => id) }, message: null })
  const others = live.map((one) => ({ expiresAt: one.expiresAt, bytes: staged(one) + (one.id === uploadId ? 0 : reserved(one, now)) }))
  requireSpace(others, bytes, spaceOf(context), now)
  return expired.flatMap(({ stagedAs }) => stagedAs ?? [])
}

/** Returns the staging space per user in bytes: at least the maximum archive size, so that one archive always fits. */
const spaceOf = ({ config }: SignedInContext): number => Math.max(config.UPLOAD_STAGING_BYTES, config.MAX_UPLOAD_BYTES)

const selectUnfinished = `select id, expires_at, staged_as, bytes, receiving_as, receiving_until, reserved_bytes from uploads
  where user_id = ? and message is null order by expires_at`

type Row = {
  id: string
  expires_at: number | string
  staged_as: string | null
  bytes: number | string | null
  receiving_as: string | null
  receiving_until: number | string | null
  reserved_bytes: number | string | null
}

const unfinishedOf = (row: Row) => ({
  id: row.id,
  expiresAt: toDate(row.expires_at),
  stagedAs: row.staged_as,
  bytes: Number(row.bytes ?? 0),
  receivingAs: row.receiving_as,
  receivingUntil: row.receiving_until === null ? null : toDate(row.receiving_until),
  reservedBytes: Number(row.reserved_bytes ?? 0),
})

type Unfinished = ReturnType<typeof unfinishedOf>

const isExpired = (upload: Unfinished, now: Date): boolean => upload.expiresAt <= now && !isReceiving(upload, now)
const staged = ({ stagedAs, bytes }: Unfinished): number => (stagedAs === null ? 0 : bytes)
const reserved = (upload: Unfinished, now: Date): number => (isReceiving(upload, now) ? upload.reservedBytes : 0)

function requireSpace(others: { expiresAt: Date; bytes: number }[], bytes: number, space: number, now: Date): void {
  const taken = others.reduce((sum, one) => sum + one.bytes, 0)
  let excess = taken + bytes - space
  if (excess <= 0) return
  const until = others.find((one) => (excess -= one.bytes) <= 0) ?? others.at(-1)
  const seconds = Math.ceil(((until?.expiresAt ?? now).getTime() - now.getTime()) / 1000)
  throw rateLimited(
    Math.max(1, seconds),
    `Your unfinished uploads use ${taken} of the ${space} bytes that each user may stage (UPLOAD_STAGING_BYTES), so this archive does not fit. Finish them first.`,
  )
}
