import type { Readable } from 'node:stream'
import { archiveTooLarge } from '../../errors.ts'

/** A request body that has been partly read. */
export type Body = {
  /** The complete body, if it is small and arrived without delay; otherwise null. */
  whole: Buffer | null
  /** The body from its first byte. The source stream is not destroyed, because the request may still need a response. */
  chunks: AsyncIterator<Buffer, undefined>
}

/** Maximum size in bytes of an archive that is received in memory and cached there until the upload is finished. */
export const maxWholeBytes = 256 * 1024

/** How long to wait for a small body, in milliseconds, before switching to streaming. */
const maxWaitMs = 50

/** Maximum memory for bodies that are being received, across all clients. */
const maxHeldBytes = 16 * 1024 ** 2
let heldBytes = 0

/**
 * Reads a body into memory if it is announced to be small and arrives without delay.
 * @throws ApiError PackageRejected (413) past `limit` bytes.
 */
export async function readSmallBody(source: Readable, announced: number | null, limit: number): Promise<Body> {
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>
  if (announced === null || announced > maxWholeBytes || heldBytes + announced > maxHeldBytes) return { whole: null, chunks }
  heldBytes += announced
  try {
    return await readHeld(chunks, limit)
  } finally {
    heldBytes -= announced
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

/** Yields the chunks already read, the pending chunk, and the rest of the body. */
async function* resumed(read: Buffer[], coming: Promise<Next>, rest: AsyncIterator<Buffer, undefined>): AsyncGenerator<Buffer, undefined> {
  yield* read
  for (let next = await coming; !next.done; next = await rest.next()) yield next.value
}
