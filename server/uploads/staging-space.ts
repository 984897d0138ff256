import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import { rateLimited } from '../errors.ts'
import { Upload } from './entity.ts'
import { isReceiving } from './service.ts'

/**
 * Promises staging space for an archive that arrives: `bytes` for the upload `uploadId`, beside all that the caller has staged. Call it under
 * `lockOwnUploads`. Uploads that have expired make room; gives the names of their staged bytes, to be discarded after the commit.
 * @throws ApiError RateLimitExceeded when it does not fit, until enough of the other uploads have expired.
 */
export async function reserveSpace(em: EntityManager, context: SignedInContext, uploadId: string, bytes: number): Promise<string[]> {
  const now = context.now()
  const uploads = await em.find(
    Upload,
    { user: context.viewer.id, message: null },
    { orderBy: { expiresAt: 'asc' }, disableIdentityMap: true },
  )
  const [expired, live] = [uploads.filter((one) => isOver(one, now)), uploads.filter((one) => !isOver(one, now))]
  if (expired.length > 0) await em.nativeDelete(Upload, { id: { $in: expired.map(({ id }) => id) }, message: null })
  const others = live.map((one) => ({ expiresAt: one.expiresAt, bytes: staged(one) + (one.id === uploadId ? 0 : promised(one, now)) }))
  requireRoom(others, bytes, spaceOf(context), now)
  return expired.flatMap(({ stagedAs }) => stagedAs ?? [])
}

/** One archive always fits, however large archives may be. */
const spaceOf = ({ config }: SignedInContext): number => Math.max(config.UPLOAD_STAGING_BYTES, config.MAX_UPLOAD_BYTES)

const isOver = (upload: Upload, now: Date): boolean => upload.expiresAt <= now && !isReceiving(upload, now)
const staged = ({ stagedAs, bytes }: Upload): number => (stagedAs == null ? 0 : (bytes ?? 0))
const promised = (upload: Upload, now: Date): number => (isReceiving(upload, now) ? (upload.reservedBytes ?? 0) : 0)

function requireRoom(others: { expiresAt: Date; bytes: number }[], bytes: number, space: number, now: Date): void {
  const taken = others.reduce((sum, one) => sum + one.bytes, 0)
  let excess = taken + bytes - space
  if (excess <= 0) return
  const until = others.find((one) => (excess -= one.bytes) <= 0) ?? others.at(-1)
  const seconds = Math.ceil(((until?.expiresAt ?? now).getTime() - now.getTime()) / 1000)
  throw rateLimited(
    Math.max(1, seconds),
    `Your uploads that are not finished take ${taken} of the ${space} bytes that one person may stage (UPLOAD_STAGING_BYTES), and this archive does not fit beside them. Finish them first.`,
  )
}
