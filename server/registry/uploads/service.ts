import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { type ApiError, notFound, rateLimited } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { isSetUp } from '../../platform/access/setup-gate.ts'
import { idOf, newId } from '../../platform/db/base.ts'
import { toDate } from '../../platform/db/reads.ts'
import { withoutSync } from '../../platform/db/statements.ts'
import { insertRows, readRow, readRows } from '../../platform/db/statements.ts'
import { collectArchives, describeHeldBack } from '../../platform/store/collect.ts'
import { requireFreeSpace } from '../../platform/store/health.ts'
import type { Services } from '../../services.ts'
import { Upload } from './entity.ts'

/** Lifetime of an upload until it is finished, in milliseconds. */
const lifetimeMs = 10 * 60_000

/** Maximum number of uploads in progress per user. */
const maxPending = 100

/** Time after which a received but unfinished upload may be replaced. Clients normally finish an upload immediately. */
const finishWithinMs = 10_000

export type NewUpload = Pick<Upload, 'id' | 'expiresAt'>

/**
 * Starts an upload. If the caller has 100 uploads in progress, the new one replaces the oldest one that has no archive or has not been finished
 * within ten seconds. Abandoned uploads therefore never block publishing.
 * @throws ApiError RateLimitExceeded while a hundred archives are arriving or have just been received; ServiceUnavailable when disk space is low.
 */
export async function createUpload(context: SignedInContext): Promise<NewUpload> {
  const { viewer, now, blobs } = context
  await requireFreeSpace(context.config)
  let replaced: string | null = null
  const announce = async (em: EntityManager): Promise<NewUpload> => {
    await lockOwnUploads(em, context)
    const createdAt = now()
    if ((await countPending(em, viewer.id, createdAt)) >= maxPending) {
      replaced = await replaceOldest(em, { user: viewer.id, message: null, expiresAt: { $gt: createdAt } }, createdAt)
    }
    const [id, expiresAt] = [newId(), new Date(createdAt.getTime() + lifetimeMs)]
    await insertRows(em, 'uploads', [{ id, created_at: createdAt, user_id: viewer.id, expires_at: expiresAt }])
    return { id, expiresAt }
  }
  const announcement = await withoutSync(() => context.em.fork().transactional(announce))
  if (replaced) await blobs.discard(replaced)
  return announcement
}

/**
 * Returns an upload of the caller. A caller identified by an upload key can access only that upload.
 * @throws ApiError NotFound when the upload is unknown, expired or another user's.
 */
export async function ownUpload({ database, viewer, credential, now }: SignedInContext, uploadId: string): Promise<OwnUpload> {
  const id = idOf(uploadId)
  const { uploadId: only = id } = credential
  const row = id && id === only ? await database.reads.get<UploadRow>(`${selectUploads} and id = ?`, viewer.id, id) : undefined
  // An upload key expires with the upload, even after the upload is finished.
  const mayExpire = row?.message === null || credential.uploadId !== undefined
  if (!row || (mayExpire && toDate(row.expires_at) <= now())) throw unknownUpload()
  return uploadOf(row)
}

export type UploadRow = {
  id: string
  expires_at: number | Date
  staged_as: string | null
  sha256: string | null
  bytes: number | string | null
  crc32c: string | null
  receiving_as: string | null
  receiving_until: number | Date | null
  reserved_bytes: number | string | null
  message: string | null
}

export const selectUploads = `select id, expires_at, staged_as, sha256, bytes, crc32c, receiving_as, receiving_until, reserved_bytes, message
  from uploads where user_id = ?`

export type OwnUpload = ReturnType<typeof uploadOf>

/** Converts a row of `selectUploads`. */
export const uploadOf = (row: UploadRow) => ({
  id: row.id,
  expiresAt: toDate(row.expires_at),
  stagedAs: row.staged_as,
  sha256: row.sha256,
  bytes: row.bytes === null ? null : Number(row.bytes),
  crc32c: row.crc32c,
  receivingAs: row.receiving_as,
  receivingUntil: row.receiving_until === null ? null : toDate(row.receiving_until),
  reservedBytes: row.reserved_bytes === null ? null : Number(row.reserved_bytes),
  message: row.message,
})

/** Returns whether a connection holds an unexpired claim and is sending the archive. */
export const isReceiving = ({ receivingAs, receivingUntil }: Pick<Upload, 'receivingAs' | 'receivingUntil'>, now: Date): boolean =>
  receivingAs != null && receivingUntil != null && receivingUntil > now

/**
 * Serializes requests that count the caller's uploads. The lock mode does not block foreign key checks on the user. SQLite has a single writer and
 * needs no lock.
 */
export async function lockOwnUploads(em: EntityManager, { database, viewer }: SignedInContext): Promise<void> {
  if (database.backend === 'postgres') await readRows(em, 'select id from users where id = ? for no key update', [viewer.id])
}

/** Returns the 404 error, identical for uploads that never existed, belong to another user, have expired or were replaced. */
export const unknownUpload = () => notFound('This upload does not exist or has expired. Uploads expire after 10 minutes. Publish again.')

async function countPending(em: EntityManager, userId: string, now: Date): Promise<number> {
  const sql = 'select count(*) as pending from uploads where user_id = ? and message is null and expires_at > ?'
  return Number((await readRow<{ pending: number | string }>(em, sql, [userId, now]))?.pending)
}

/** Deletes the oldest replaceable upload. @returns the name of its staged bytes, or null if it had none. */
async function replaceOldest(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<string | null> {
  const isIdle = { stagedAs: null, $or: [{ receivingAs: null }, { receivingUntil: { $lte: now } }] }
  const isAbandoned = { stagedAs: { $ne: null }, createdAt: { $lte: new Date(now.getTime() - finishWithinMs) } }
  const oldest = await em.findOne(Upload, { $and: [pending, { $or: [isIdle, isAbandoned] }] }, { orderBy: { id: 'asc' } })
  if (!oldest) throw await tooManyUploads(em, pending, now)
  const stagedAs = oldest.stagedAs ?? null
  await em.nativeDelete(Upload, { id: oldest.id, message: null, stagedAs })
  return stagedAs
}

/**
 * Returns the error for when no upload can be replaced, with the seconds until one can be: when the claim of an arriving archive expires, or when the
 * time to finish a received archive is over.
 */
async function tooManyUploads(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<ApiError> {
  const sent = await em.findOne(Upload, { $and: [pending, { stagedAs: { $ne: null } }] }, { orderBy: { createdAt: 'asc' } })
  const arriving = await em.findOne(Upload, { $and: [pending, { stagedAs: null }] }, { orderBy: { receivingUntil: 'asc' } })
  const free = Math.min(
    sent ? sent.createdAt.getTime() + finishWithinMs : Number.POSITIVE_INFINITY,
    arriving ? (arriving.receivingUntil ?? now).getTime() : Number.POSITIVE_INFINITY,
    now.getTime() + lifetimeMs,
  )
  return rateLimited(Math.max(1, Math.ceil((free - now.getTime()) / 1000)), `You have ${maxPending} uploads in progress.`)
}

const hourMs = 3_600_000

/**
 * Deletes the leftovers of uploads: unfinished uploads and their bytes one hour after expiry, results after a day, and bytes older than a day that
 * belong to no version. Does nothing before the setup is complete, because the server may be connected to the wrong database. The server calls this
 * periodically; concurrent calls from several instances are safe.
 */
export async function collectGarbage(
  services: Pick<Services, 'database' | 'state' | 'blobs' | 'now' | 'log'>,
): Promise<{ uploads: number; blobs: number }> {
  const { database, blobs, now, log } = services
  if (!(await isSetUp(services))) return { uploads: 0, blobs: 0 }
  const em = database.fork()
  const moment = now().getTime()
  const [hourAgo, dayAgo] = [new Date(moment - hourMs), new Date(moment - 24 * hourMs)]
  const abandoned = await em.find(Upload, { message: null, expiresAt: { $lt: hourAgo } })
  for (const { stagedAs } of abandoned) if (stagedAs) await blobs.discard(stagedAs)
  const uploads = await em.nativeDelete(Upload, { $or: [{ message: null, expiresAt: { $lt: hourAgo } }, { expiresAt: { $lt: dayAgo } }] })
  const { removed, heldBack } = await collectArchives({ em, blobs, now, say: (line) => log.info(`collecting: ${line}`) })
  if (heldBack) log.warning(`collecting: ${describeHeldBack(heldBack)}`)
  // If the collection is held back until an administrator confirms it, delete no staged bytes either.
  const staged = heldBack ? 0 : await blobs.collectStaged(dayAgo)
  return { uploads, blobs: removed.length + staged }
}
