import type { EntityManager } from '@mikro-orm/sql'
import type { Readable } from 'node:stream'
import { archiveTooLarge } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { newId } from '../../platform/db/base.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { changeRows, withoutSync } from '../../platform/db/statements.ts'
import type { Services } from '../../services.ts'
import { reserveSpace } from './claim.ts'
import { isReceiving, lockOwnUploads, type OwnUpload, ownUpload } from './service.ts'

/**
 * Receives an archive that is completely in memory, in a single transaction and without a claim. Separate from the path with a claim because that one
 * needs a second transaction, a synced file and reading it again, which makes publishing 50 KB take half as long again. Returns false when another
 * connection is sending to the same upload, or the upload changes concurrently; the caller must then use a claim.
 * @throws ApiError NotFound when the upload is not the caller's or has expired; RateLimitExceeded when the caller has staged too much.
 */
export async function receiveWhole(context: SignedInContext, uploadId: string, bytes: Buffer): Promise<boolean> {
  const { blobs } = context
  const upload = await ownUpload(context, uploadId)
  if (upload.message !== null) return true
  if (isReceiving(upload, context.now())) return false
  const as = newId()
  let obsolete = [as]
  try {
    const stored = await blobs.stageWhole(as, bytes)
    const kept = await recordBytes(context, upload, as, stored)
    if (!kept) return false
    context.caches.uploads.set(as, inOwnMemory(bytes))
    obsolete = kept
    return true
  } finally {
    for (const name of obsolete) await blobs.discard(name)
  }
}

/** Records the staged bytes. Returns the names of staged bytes to discard, or null when the upload has changed. */
function recordBytes(context: SignedInContext, upload: OwnUpload, as: string, stored: StoredBytes): Promise<string[] | null> {
  const { sha256, bytes, crc32c } = stored
  const recordIn = async (em: EntityManager): Promise<string[] | null> => {
    await lockOwnUploads(em, context)
    const expired = await reserveSpace(em, context, upload.id, bytes)
    const now = context.now()
    const kept = await changeRows(em, stage, as, sha256, bytes, crc32c, upload.id, now, upload.stagedAs)
    if (kept === 0) return null
    return upload.stagedAs ? [...expired, upload.stagedAs] : expired
  }
  return withoutSync(() => context.em.fork().transactional(recordIn))
}

/** Records staged bytes if no other connection is sending and the upload still has the bytes `before`. */
const stage = prepared((as: string, sha256: string, bytes: number, crc32c: string, id: string, now: Date, before: string | null) =>
  db
    .updateTable('uploads')
    .set({ staged_as: as, sha256, bytes, crc32c, receiving_as: null, receiving_until: null, reserved_bytes: null })
    .where('id', '=', id)
    .where('message', 'is', null)
    .where('expires_at', '>', now)
    .where((eb) => eb.or([eb('receiving_as', 'is', null), eb('receiving_until', '<=', now)]))
    .where('staged_as', 'is not distinct from', before),
)

type Body = {
  /** The complete body, if it is small and arrived without delay; otherwise null. */
  whole: Buffer | null
  /** The body from its first byte. The source stream is not destroyed, because the request may still need a response. */
  chunks: AsyncIterator<Buffer, undefined>
}

/** Maximum size in bytes of an archive that is received in memory and cached there until the upload is finished. */
const maxWholeBytes = 256 * 1024

/** Time after which a small body that has not arrived is streamed instead. */
const maxWaitMs = 50

/** Maximum memory for bodies that are being received, across all clients. */
const maxHeldBytes = 16 * 1024 ** 2

/**
 * Reads a body into memory if it is announced to be small and arrives without delay.
 * @throws ApiError PackageRejected (413) past `limit` bytes.
 */
export async function readSmallBody(
  { state }: Pick<Services, 'state'>,
  source: Readable,
  announced: number | null,
  limit: number,
): Promise<Body> {
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>
  const uploads = (state.smallUploads ??= { heldBytes: 0 })
  if (announced === null || announced > maxWholeBytes || uploads.heldBytes + announced > maxHeldBytes) return { whole: null, chunks }
  uploads.heldBytes += announced
  try {
    return await readHeld(chunks, limit)
  } finally {
    uploads.heldBytes -= announced
  }
}

async function readHeld(chunks: AsyncIterator<Buffer, undefined>, limit: number): Promise<Body> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), maxWaitMs)
  const read: Buffer[] = []
  try {
    for (let bytes = 0; ;) {
      const coming = chunks.next()
      const next = await Promise.race([coming, late])
      if (next === null) return { whole: null, chunks: resumed(read, coming, chunks) }
      if (next.done) return { whole: Buffer.concat(read), chunks: resumed(read, coming, chunks) }
      bytes += next.value.length
      if (bytes > limit) throw archiveTooLarge(limit)
      read.push(next.value)
    }
  } finally {
    clearTimeout(timer)
  }
}

type Next = IteratorResult<Buffer, undefined>

async function* resumed(read: Buffer[], coming: Promise<Next>, rest: AsyncIterator<Buffer, undefined>): AsyncGenerator<Buffer, undefined> {
  yield* read
  for (let next = await coming; !next.done; next = await rest.next()) yield next.value
}

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Small archives that were just staged, by staging name. They are usually finished immediately, so caching them saves reading from disk. */
    uploads: Buffer
  }
}

declare module '../../services.ts' {
  interface State {
    /** Memory reserved for small archives that are being received. */
    smallUploads?: { heldBytes: number }
  }
}
