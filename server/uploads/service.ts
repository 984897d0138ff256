import { LockMode } from '@mikro-orm/core'
import type { Readable } from 'node:stream'
import { validate as isUuid } from 'uuid'
import type { SignedInContext } from '../context.ts'
import { newId } from '../db/base.ts'
import { notFound, rateLimited } from '../errors.ts'
import { User } from '../users/entity.ts'
import { Upload } from './entity.ts'

/** How long an upload waits for its bytes and its end (interface §8). */
const lifetimeMs = 10 * 60_000

/** How many uploads a person may have under way (decisions §7). */
const mostPending = 3

/**
 * Announces an upload.
 * @throws ApiError RateLimitExceeded while three of the caller's are under way, until the oldest expires.
 */
export function createUpload({ em, viewer, now }: SignedInContext): Promise<Upload> {
  return em.transactional(async (em) => {
    // Two at once must not both be the third.
    const user = await em.findOneOrFail(User, viewer.id, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const createdAt = now()
    const pending = await em.find(Upload, { user, message: null, expiresAt: { $gt: createdAt } }, { orderBy: { expiresAt: 'asc' } })
    const [oldest] = pending
    if (oldest && pending.length >= mostPending) throw rateLimited(Math.ceil((oldest.expiresAt.getTime() - createdAt.getTime()) / 1000))
    return em.create(Upload, { user, createdAt, expiresAt: new Date(createdAt.getTime() + lifetimeMs) })
  })
}

/**
 * Takes the bytes of an upload. Sending them again replaces them; after a successful finish it changes nothing.
 * @throws ApiError NotFound when the upload is not the caller's or has expired; PackageRejected (413) past MAX_UPLOAD_BYTES.
 */
export async function receiveUpload(context: SignedInContext, uploadId: string, source: Readable): Promise<void> {
  const { blobs, config } = context
  const { message } = await ownUpload(context, uploadId)
  if (message !== null) return
  const stagedAs = newId()
  const stored = await blobs.stage(stagedAs, source, config.MAX_UPLOAD_BYTES)
  const replaced = await keepBytes(context, uploadId, { stagedAs, ...stored })
  if (replaced) await blobs.discard(replaced)
  if (replaced === stagedAs) throw unknownUpload()
}

/**
 * The caller's upload: still open, or finished with an answer.
 * @throws ApiError NotFound when it is not theirs, unknown or expired.
 */
export async function ownUpload({ em, viewer, now }: SignedInContext, uploadId: string): Promise<Upload> {
  const upload = isUuid(uploadId) ? await em.findOne(Upload, { id: uploadId, user: viewer.id }) : null
  if (!upload || (upload.message === null && upload.expiresAt <= now())) throw unknownUpload()
  return upload
}

const unknownUpload = () => notFound('This upload does not exist or has expired: an upload lasts 10 minutes. Publish again.')

type Bytes = { stagedAs: string; sha256: string; bytes: number; crc32c: string }

/** Writes down where the bytes are; gives the staged bytes that nobody needs now: the ones before, or these when the upload is over. */
function keepBytes({ em, now }: SignedInContext, uploadId: string, bytes: Bytes): Promise<string | null> {
  return em.fork().transactional(async (em) => {
    const upload = await em.findOne(
      Upload,
      { id: uploadId, message: null, expiresAt: { $gt: now() } },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    )
    if (!upload) return bytes.stagedAs
    const before = upload.stagedAs ?? null
    em.assign(upload, bytes)
    return before
  })
}
