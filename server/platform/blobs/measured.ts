import { createHash, hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { archiveTooLarge } from '../../errors.ts'
import { crc32c, encodeCrc32c } from './crc32c.ts'
import type { StoredBytes } from './store.ts'

/** A byte stream that is measured while it is read. */
export type Measured = {
  chunks: AsyncGenerator<Buffer, void>
  /** Returns the size and checksums. Call after the whole stream has been read. */
  facts(): StoredBytes
  /** Returns the error of the source, or the size limit error. Null if neither occurred. */
  failure(): Error | null
}

/** Passes chunks through while counting bytes and computing checksums. Throws archiveTooLarge past `limit` bytes. */
export function measure(source: Readable, limit: number): Measured {
  const sha256 = createHash('sha256')
  let [bytes, checksum] = [0, 0]
  let failure: Error | null = null
  async function* measured() {
    try {
      // The source is not destroyed at the limit, because it may be a request that still needs a response.
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

/** Returns the size and checksums of a complete buffer. */
export const factsOf = (bytes: Buffer): StoredBytes => ({
  bytes: bytes.length,
  sha256: hash('sha256', bytes),
  crc32c: encodeCrc32c(crc32c(bytes)),
})

/** Returns the SHA-256 of a stream, in hex. */
export async function hashOf(bytes: Readable): Promise<string> {
  const sha256 = createHash('sha256')
  await pipeline(bytes, sha256)
  return sha256.digest('hex')
}
