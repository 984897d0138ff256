import { createHash, hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { archiveTooLarge } from '../../errors.ts'
import type { StoredBytes } from './store.ts'

/** Passes chunks through while counting bytes and computing checksums. Throws archiveTooLarge past `limit` bytes. */
export function measure(source: Readable, limit: number) {
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
    /** Returns the size and checksums. Call after the whole stream has been read. */
    facts: (): StoredBytes => ({ bytes, sha256: sha256.copy().digest('hex'), crc32c: encodeCrc32c(checksum) }),
    /** Returns the error of the source, or the size limit error. */
    failure: () => failure,
  }
}

/** Returns the size and checksums of a complete buffer. */
export const measureBuffer = (bytes: Buffer): StoredBytes => ({
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

/**
 * Returns the CRC-32C (Castagnoli, RFC 3720 B.4) of `chunk`, continuing from `previous`. zlib's crc32 uses a different polynomial. Processes four
 * bytes per step with one lookup table each, because a byte-wise checksum of a small archive would cost more than unpacking it.
 */
export function crc32c(chunk: Uint8Array, previous = 0): number {
  const at = (index: number) => chunk[index] as number
  let [crc, index] = [~previous, 0]
  for (; index + 3 < chunk.length; index += 4) {
    crc ^= at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24)
    crc = entry(3, crc) ^ entry(2, crc >>> 8) ^ entry(1, crc >>> 16) ^ entry(0, crc >>> 24)
  }
  for (; index < chunk.length; index++) crc = entry(0, crc ^ at(index)) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Encodes a checksum for the `x-goog-hash` header: base64 of four big-endian bytes. */
export function encodeCrc32c(checksum: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(checksum)
  return bytes.toString('base64')
}

const polynomial = 0x82f63b78

/** Returns the contribution of a byte that is followed by `following` other bytes of the same four-byte step. */
const entry = (following: number, byte: number): number => tables[(following << 8) | (byte & 0xff)] as number

const tables = new Int32Array(4 * 256)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  tables[byte] = crc
}
for (let place = 256; place < tables.length; place++) {
  const before = tables[place - 256] as number
  tables[place] = (before >>> 8) ^ entry(0, before)
}
