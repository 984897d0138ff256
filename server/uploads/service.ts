import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import { idOf, newId } from '../db/base.ts'
import { toDate } from '../db/reads/reads.ts'
import { insertRows, readRow, readRows } from '../db/statements.ts'
import { unforced } from '../db/sqlite/unforced.ts'
import { type ApiError, notFound, rateLimited } from '../errors.ts'
import { requireFreeSpace } from '../store/free-space.ts'
import { Upload } from './entity.ts'

/** How long an upload waits for its bytes and its end. */
const lifetimeMs = 10 * 60_000

/** How many uploads a person may have in progress. */
const maxPending = 100

/** Clients finish an upload at once after sending its archive. One that is not finished after so long may be replaced. */
const finishWithinMs = 10_000

/** An upload that may be sent. */
export type Announcement = Pick<Upload, 'id' | 'expiresAt'>

/**
 * Starts an upload. When the caller has a hundred in progress, it replaces the oldest one that has no archive, or whose archive nobody finished
 * for ten seconds: what was only announced, or was interrupted, never keeps anybody from publishing.
 * @throws ApiError RateLimitExceeded while a hundred archives are arriving or were sent a moment ago; ServiceUnavailable when space is low.
 */
export async function createUpload(context: SignedInContext): Promise<Announcement> {
  const { viewer, now, blobs } = context
  await requireFreeSpace(context.config)
  let replaced: string | null = null
  const announce = async (em: EntityManager): Promise<Announcement> => {
    await lockOwnUploads(em, context)
    const createdAt = now()
    if ((await countPending(em, viewer.id, createdAt)) >= maxPending) {
      replaced = await replaceOldest(em, { user: viewer.id, message: null, expiresAt: { $gt: createdAt } }, createdAt)
    }
    const [id, expiresAt] = [newId(), new Date(createdAt.getTime() + lifetimeMs)]
    await insertRows(em, 'uploads', [{ id, created_at: createdAt, user_id: viewer.id, expires_at: expiresAt }])
    return { id, expiresAt }
  }
  const announcement = await unforced(() => context.em.fork().transactional(announce))
  if (replaced) await blobs.discard(replaced)
  return announcement
}

/** An upload as it is now: open, or finished with an answer. */
export type OwnUpload = Required<
  Pick<Upload, 'id' | 'expiresAt' | 'stagedAs' | 'sha256' | 'bytes' | 'crc32c' | 'receivingAs' | 'receivingUntil' | 'message'>
>

/**
 * The caller's upload; with the key of an upload, that one and no other.
 * @throws ApiError NotFound when it is not theirs, unknown or expired.
 */
export async function ownUpload({ database, viewer, credential, now }: SignedInContext, uploadId: string): Promise<OwnUpload> {
  const id = idOf(uploadId)
  const { uploadId: only = id } = credential
  const row = id && id === only ? await database.reads.get<UploadRow>(selectOwn, id, viewer.id) : undefined
  // The key of an upload expires with it, whether or not it was finished.
  const mayExpire = row?.message === null || credential.uploadId !== undefined
  if (!row || (mayExpire && toDate(row.expires_at) <= now())) throw unknownUpload()
  return {
    id: row.id,
    expiresAt: toDate(row.expires_at),
    stagedAs: row.staged_as,
    sha256: row.sha256,
    bytes: row.bytes === null ? null : Number(row.bytes),
    crc32c: row.crc32c,
    receivingAs: row.receiving_as,
    receivingUntil: row.receiving_until === null ? null : toDate(row.receiving_until),
    message: row.message,
  }
}

const selectOwn = `select id, expires_at, staged_as, sha256, bytes, crc32c, receiving_as, receiving_until, message
  from uploads where id = ? and user_id = ?`

type UploadRow = {
  id: string
  expires_at: number | Date
  staged_as: string | null
  sha256: string | null
  bytes: number | string | null
  crc32c: string | null
  receiving_as: string | null
  receiving_until: number | Date | null
  message: string | null
}

/** Whether a connection is sending the archive: it sent something lately. */
export const isReceiving = ({ receivingAs, receivingUntil }: Pick<Upload, 'receivingAs' | 'receivingUntil'>, now: Date): boolean =>
  receivingAs != null && receivingUntil != null && receivingUntil > now

/** Lets one request at a time count the caller's uploads. The person's row stays free for foreign keys to it; SQLite has one writer anyway. */
export async function lockOwnUploads(em: EntityManager, { database, viewer }: SignedInContext): Promise<void> {
  if (database.backend === 'postgres') await readRows(em, 'select id from users where id = ? for no key update', [viewer.id])
}

/** 404, the same for an upload that never was, of somebody else, expired, or replaced by others. */
export const unknownUpload = () => notFound('This upload does not exist or has expired: an upload lasts 10 minutes. Publish again.')

async function countPending(em: EntityManager, userId: string, now: Date): Promise<number> {
  const sql = 'select count(*) as pending from uploads where user_id = ? and message is null and expires_at > ?'
  return Number((await readRow<{ pending: number | string }>(em, sql, [userId, now]))?.pending)
}

/** Takes an upload away to make room for another one. @returns where its archive is staged; null when it had none. */
async function replaceOldest(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<string | null> {
  const isIdle = { stagedAs: null, $or: [{ receivingAs: null }, { receivingUntil: { $lte: now } }] }
  const isAbandoned = { stagedAs: { $ne: null }, createdAt: { $lte: new Date(now.getTime() - finishWithinMs) } }
  const oldest = await em.findOne(Upload, { $and: [pending, { $or: [isIdle, isAbandoned] }] }, { orderBy: { id: 'asc' } })
  if (!oldest) throw await tooMany(em, pending, now)
  const stagedAs = oldest.stagedAs ?? null
  await em.nativeDelete(Upload, { id: oldest.id, message: null, stagedAs })
  return stagedAs
}

/**
 * The refusal while no upload may be replaced, with the seconds until one may be: an archive that is arriving when its claim lapses, one that was
 * sent when it has had its time to be finished.
 */
async function tooMany(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<ApiError> {
  const sent = await em.findOne(Upload, { $and: [pending, { stagedAs: { $ne: null } }] }, { orderBy: { createdAt: 'asc' } })
  const arriving = await em.findOne(Upload, { $and: [pending, { stagedAs: null }] }, { orderBy: { receivingUntil: 'asc' } })
  const free = Math.min(
    sent ? sent.createdAt.getTime() + finishWithinMs : Number.POSITIVE_INFINITY,
    arriving ? (arriving.receivingUntil ?? now).getTime() : Number.POSITIVE_INFINITY,
    now.getTime() + lifetimeMs,
  )
  return rateLimited(Math.max(1, Math.ceil((free - now.getTime()) / 1000)), `You have ${maxPending} uploads in progress.`)
}
