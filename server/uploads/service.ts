import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import { idOf } from '../db/base.ts'
import { type ApiError, notFound, rateLimited } from '../errors.ts'
import { User } from '../users/entity.ts'
import { Upload } from './entity.ts'

/** How long an upload waits for its bytes and its end. */
const lifetimeMs = 10 * 60_000

/** How many uploads a person may have under way. */
const maxPending = 100

/** Whoever sent an archive finishes at once. After so long without, it may give way to another upload. */
const finishWithinMs = 10_000

/**
 * Announces an upload. When the caller has a hundred under way, the oldest one gives way that has no archive, or whose archive nobody finished for
 * ten seconds: what was only announced, or was interrupted, never keeps anybody from publishing.
 * @throws ApiError RateLimitExceeded while a hundred archives are arriving or were sent a moment ago.
 */
export async function createUpload(context: SignedInContext): Promise<Upload> {
  const { viewer, now, blobs } = context
  let abandoned: string | null = null
  const upload = await context.em.fork().transactional(async (em) => {
    await lockOwnUploads(em, context)
    const createdAt = now()
    const pending = { user: viewer.id, message: null, expiresAt: { $gt: createdAt } }
    if ((await em.count(Upload, pending)) >= maxPending) abandoned = await giveWay(em, pending, createdAt)
    return em.create(Upload, {
      user: em.getReference(User, viewer.id),
      createdAt,
      expiresAt: new Date(createdAt.getTime() + lifetimeMs),
    })
  })
  if (abandoned) await blobs.discard(abandoned)
  return upload
}

/**
 * The caller's upload as it is now: still open, or finished with an answer.
 * @throws ApiError NotFound when it is not theirs, unknown or expired.
 */
export async function ownUpload({ em, viewer, now }: SignedInContext, uploadId: string): Promise<Upload> {
  const id = idOf(uploadId)
  const upload = id ? await em.fork().findOne(Upload, { id, user: viewer.id }) : null
  if (!upload || (upload.message === null && upload.expiresAt <= now())) throw unknownUpload()
  return upload
}

/** Whether a connection is sending the archive: it sent something lately. */
export const isReceiving = ({ receivingAs, receivingUntil }: Upload, now: Date): boolean =>
  receivingAs != null && receivingUntil != null && receivingUntil > now

/** Lets one request at a time count the caller's uploads. The person's row stays free for foreign keys to it; SQLite has one writer anyway. */
export async function lockOwnUploads(em: EntityManager, { database, viewer }: SignedInContext): Promise<void> {
  if (database.backend === 'postgres') await em.execute('select id from users where id = ? for no key update', [viewer.id])
}

/** 404, the same for an upload that never was, of somebody else, expired, or that gave way to others. */
export const unknownUpload = () => notFound('This upload does not exist or has expired: an upload lasts 10 minutes. Publish again.')

/** Makes room for one upload more. @returns where the archive of the one that gave way is staged; null when it had none. */
async function giveWay(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<string | null> {
  const isIdle = { stagedAs: null, $or: [{ receivingAs: null }, { receivingUntil: { $lte: now } }] }
  const isAbandoned = { stagedAs: { $ne: null }, createdAt: { $lte: new Date(now.getTime() - finishWithinMs) } }
  const oldest = await em.findOne(Upload, { $and: [pending, { $or: [isIdle, isAbandoned] }] }, { orderBy: { id: 'asc' } })
  if (!oldest) throw await tooMany(em, pending, now)
  const stagedAs = oldest.stagedAs ?? null
  await em.nativeDelete(Upload, { id: oldest.id, message: null, stagedAs })
  return stagedAs
}

/** The refusal while every upload is under way, with the seconds until the first of them may give way. */
async function tooMany(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<ApiError> {
  const sent = await em.findOne(Upload, { $and: [pending, { stagedAs: { $ne: null } }] }, { orderBy: { id: 'asc' } })
  const first = sent ?? (await em.findOneOrFail(Upload, pending, { orderBy: { expiresAt: 'asc' } }))
  const free = sent ? sent.createdAt.getTime() + finishWithinMs : first.expiresAt.getTime()
  return rateLimited(Math.max(1, Math.ceil((free - now.getTime()) / 1000)), `${maxPending} of your uploads are under way.`)
}
