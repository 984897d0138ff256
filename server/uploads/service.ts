import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { SignedInContext } from '../context.ts'
import { idOf } from '../db/base.ts'
import { notFound, rateLimited } from '../errors.ts'
import { User } from '../users/entity.ts'
import { Upload } from './entity.ts'

/** How long an upload waits for its bytes and its end. */
const lifetimeMs = 10 * 60_000

/** How many uploads a person may have under way. */
const maxPending = 100

/**
 * Announces an upload. When the caller has a hundred under way, the oldest one that has no archive gives way: what was only announced, or was
 * interrupted, never keeps anybody from publishing.
 * @throws ApiError RateLimitExceeded while a hundred archives are arriving or wait to be finished, until the first of these uploads expires.
 */
export function createUpload(context: SignedInContext): Promise<Upload> {
  const { viewer, now } = context
  return context.em.fork().transactional(async (em) => {
    await lockOwnUploads(em, context)
    const createdAt = now()
    const pending = { user: viewer.id, message: null, expiresAt: { $gt: createdAt } }
    if ((await em.count(Upload, pending)) >= maxPending) await giveWay(em, pending, createdAt)
    return em.create(Upload, {
      user: em.getReference(User, viewer.id),
      createdAt,
      expiresAt: new Date(createdAt.getTime() + lifetimeMs),
    })
  })
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

async function giveWay(em: EntityManager, pending: FilterQuery<Upload>, now: Date): Promise<void> {
  const isIdle = { stagedAs: null, $or: [{ receivingAs: null }, { receivingUntil: { $lte: now } }] }
  const oldest = await em.findOne(Upload, { $and: [pending, isIdle] }, { orderBy: { id: 'asc' } })
  if (oldest) return void (await em.nativeDelete(Upload, { id: oldest.id, stagedAs: null }))
  const first = await em.findOneOrFail(Upload, pending, { orderBy: { expiresAt: 'asc' } })
  const seconds = Math.ceil((first.expiresAt.getTime() - now.getTime()) / 1000)
  throw rateLimited(seconds, `${maxPending} of your uploads have an archive that waits to be finished.`)
}
