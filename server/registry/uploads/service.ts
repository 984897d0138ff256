import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { InferResult } from 'kysely'
import { type ApiError, notFound, rateLimited } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { Viewer } from '../../platform/access/roles.ts'
import { isSetUp } from '../../platform/access/setup-gate.ts'
import { idOf, newId } from '../../platform/db/base.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { insertRows, lockRows, readRow, withoutSync } from '../../platform/db/statements.ts'
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
    if ((await countPending(em, viewer, createdAt)) >= maxPending) {
      const own = viewer.isCiJob ? { ciJob: viewer.id } : { user: viewer.id }
      replaced = await replaceOldest(em, { ...own, message: null, expiresAt: { $gt: createdAt } }, createdAt)
    }
    const [id, expiresAt] = [newId(), new Date(createdAt.getTime() + lifetimeMs)]
    const owner = viewer.isCiJob ? { user_id: null, ci_job_id: viewer.id } : { user_id: viewer.id, ci_job_id: null }
    await insertRows(em, 'uploads', [{ id, created_at: createdAt, ...owner, expires_at: expiresAt }])
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
  const row = id && id === only ? await database.reads.get(viewer.isCiJob ? uploadOfJob : uploadOfUser, viewer.id, id) : undefined
  // An upload key expires with the upload, even after the upload is finished.
  const mayExpire = row?.message === null || credential.uploadId !== undefined
  if (!row || (mayExpire && row.expiresAt <= now())) throw unknownUpload()
  return row
}

/** A query of the uploads of a user or a job. */
export const selectUploads = ({ id, isCiJob }: Pick<Viewer, 'id' | 'isCiJob'>) =>
  db
    .selectFrom('uploads')
    .select(['id', 'expires_at as expiresAt', 'staged_as as stagedAs', 'sha256', 'bytes', 'crc32c', 'message'])
    .select(['receiving_as as receivingAs', 'receiving_until as receivingUntil', 'reserved_bytes as reservedBytes'])
    .where(isCiJob ? 'ci_job_id' : 'user_id', '=', id)

const uploadOfUser = prepared((userId: string, id: string) => selectUploads({ id: userId }).where('id', '=', id))
const uploadOfJob = prepared((jobId: string, id: string) => selectUploads({ id: jobId, isCiJob: true }).where('id', '=', id))

export type OwnUpload = InferResult<ReturnType<typeof selectUploads>>[number]

/** Returns whether a connection holds an unexpired claim and is sending the archive. */
export const isReceiving = ({ receivingAs, receivingUntil }: Pick<Upload, 'receivingAs' | 'receivingUntil'>, now: Date): boolean =>
  receivingAs != null && receivingUntil != null && receivingUntil > now

/**
 * Serializes requests that count the caller's uploads. The lock mode does not block foreign key checks on the user. SQLite has a single writer and
 * needs no lock.
 */
export async function lockOwnUploads(em: EntityManager, { viewer }: SignedInContext): Promise<void> {
  const owner = db.selectFrom(viewer.isCiJob ? 'ci_jobs' : 'users').select('id')
  await lockRows(em, owner.where('id', '=', viewer.id).forNoKeyUpdate())
}

/** Returns the 404 error, identical for uploads that never existed, belong to another user, have expired or were replaced. */
export const unknownUpload = () => notFound('This upload does not exist or has expired. Uploads expire after 10 minutes. Publish again.')

async function countPending(em: EntityManager, { id, isCiJob }: Viewer, now: Date): Promise<number> {
  return (await readRow(em, isCiJob ? pendingOfJob : pendingOfUser, id, now))?.total ?? 0
}

const countUploads = (owner: 'user_id' | 'ci_job_id') =>
  prepared((id: string, now: Date) =>
    db
      .selectFrom('uploads')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where(owner, '=', id)
      .where('message', 'is', null)
      .where('expires_at', '>', now),
  )
const pendingOfUser = countUploads('user_id')
const pendingOfJob = countUploads('ci_job_id')

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
