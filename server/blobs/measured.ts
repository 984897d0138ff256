import { createHash, hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { archiveTooLarge } from '../errors.ts'
import { crc32c, encodeCrc32c } from './crc32c.ts'
import type { StoredBytes } from './store.ts'

/** Bytes that are measured while they come. */
export type Measured = {
  chunks: AsyncGenerator<Buffer, void>
  /** What was learned, once all of them have come. */
  facts(): StoredBytes
  /** Why no more came: the source broke off, or there was too much of it; null when that was not the reason. */
  failure(): Error | null
}

/** Hands on what comes, counts it and computes its checksums. Past `limit` bytes it throws archiveTooLarge. */
export function measure(source: Readable, limit: number): Measured {
  const sha256 = createHash('sha256')
  let [bytes, checksum] = [0, 0]
  let failure: Error | null = null
  async function* measured() {
    try {
      // The source is left whole when the limit ends the reading: it may be a request that still has to be answered.
      for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        bytes += chunk.length
        if (bytes > limit) throw archiveTooLarge(limit)
        sha256.update(chunk)
        checksum = crc32c(chunk, checksum)
        yield chunk
      }
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
      throw error
    }
  }
  return {
    chunks: measured(),
    facts: () => ({ bytes, sha256: sha256.copy().digest('hex'), crc32c: encodeCrc32c(checksum) }),
    failure: () => failure,
  }
}

/** What is learned about bytes that are all there. */
export const factsOf = (bytes: Buffer): StoredBytes => ({
  bytes: bytes.length,
  sha256: hash('sha256', bytes),
  crc32c: encodeCrc32c(crc32c(bytes)),
})

/** The SHA-256 of bytes that come, in hex. */
export async function hashOf(bytes: Readable): Promise<string> {
  const sha256 = createHash('sha256')
  await pipeline(bytes, sha256)
  return sha256.digest('hex')
}
