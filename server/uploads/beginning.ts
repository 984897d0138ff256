import type { Readable } from 'node:stream'
import { archiveTooLarge } from '../errors.ts'

/** A body of which a part has been read. */
export type Body = {
  /** All of it, when it was small and came at once. */
  whole: Buffer | null
  /** It again from its first byte. Its source is left whole: it may be a request that still has to be answered. */
  chunks: AsyncIterator<Buffer, undefined>
}

/** Archives up to this size are taken in one piece when they come at once, and stay in memory until they are finished. */
export const maxWholeBytes = 256 * 1024

/** How long a body may take to come at once. */
const patienceMs = 50

/** So much is held for bodies that are coming, of all clients together. */
const maxHeldBytes = 16 * 1024 ** 2
let heldBytes = 0

/**
 * Reads a body that was announced to be small, while it comes without delay.
 * @throws ApiError PackageRejected (413) past `limit` bytes.
 */
export async function readBeginning(source: Readable, announced: number | null, limit: number): Promise<Body> {
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
  const timer = setTimeout(() => resolve(null), patienceMs)
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

/** What was read, what is coming, and the rest. */
async function* resumed(read: Buffer[], coming: Promise<Next>, rest: AsyncIterator<Buffer, undefined>): AsyncGenerator<Buffer, undefined> {
  yield* read
  for (let next = await coming; !next.done; next = await rest.next()) yield next.value
}
