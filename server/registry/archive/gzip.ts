import { createInflateRaw, crc32, inflateRawSync, type InflateRaw } from 'node:zlib'
import { rejectArchive } from './reject.ts'

type Chunks = AsyncIterable<Buffer>

/** The three stages of a stream pipeline that decompresses a gzip file. */
export type GzipStages = [unwrap: (source: Chunks) => Chunks, inflate: InflateRaw, verify: (content: Chunks) => Chunks]

/**
 * Creates the stages for reading a single gzip member without trailing data (RFC 1952). Node's gunzip would continue with a second member and ignore
 * trailing zeros. Therefore header and trailer are parsed here, and the deflate stream must end exactly at the trailer. The stages throw
 * `PackageRejected`, or zlib's error for invalid deflate data (`isBrokenDeflate`).
 */
export function gzipStages(): GzipStages {
  const inflate = createInflateRaw({ chunkSize: 32 * 1024 })
  const seen: { deflated: number; trailer: Buffer } = { deflated: 0, trailer: Buffer.alloc(0) }

  async function* unwrap(source: Chunks) {
    for await (const chunk of withoutTrailer(withoutHeader(source), (trailer) => (seen.trailer = trailer))) {
      seen.deflated += chunk.length
      yield chunk
    }
  }

  async function* verify(content: Chunks) {
    let [checksum, size] = [0, 0]
    for await (const chunk of content) {
      checksum = crc32(chunk, checksum)
      size += chunk.length
      yield chunk
    }
    checkEnd(inflate.bytesWritten, seen.deflated, seen.trailer, checksum, size)
  }

  return [unwrap, inflate, verify]
}

/**
 * Decompresses a complete gzip file under the same rules as `gzipStages`, without the cost of a pipeline. Returns null when the content exceeds `limit` bytes. Throws the same errors
 * as the stages.
 */
export function unzipWhole(file: Buffer, limit: number): Buffer | null {
  if (file.length === 0) rejectArchive(empty)
  const start = headerLength(file)
  if (start === null || file.length - start < trailerLength) rejectArchive(truncated)
  const deflated = file.subarray(start, -trailerLength)
  const inflated = inflateWhole(deflated, limit)
  if (inflated)
    checkEnd(inflated.bytesRead, deflated.length, file.subarray(-trailerLength), crc32(inflated.content), inflated.content.length)
  return inflated?.content ?? null
}

/** Returns the decompressed content and the number of input bytes consumed, or null when the content exceeds `limit` bytes. */
function inflateWhole(deflated: Buffer, limit: number): { content: Buffer; bytesRead: number } | null {
  try {
    // With `info: true`, zlib returns an object that its type declaration does not describe.
    const { buffer, engine } = inflateRawSync(deflated, { maxOutputLength: limit, info: true }) as unknown as WithInfo
    return { content: buffer, bytesRead: engine.bytesWritten }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

type WithInfo = { buffer: Buffer; engine: { bytesWritten: number } }

function checkEnd(bytesRead: number, bytes: number, trailer: Buffer, checksum: number, size: number): void {
  if (bytesRead !== bytes) rejectArchive('The archive has data after the end of its gzip stream. Pack it again, as one .tar.gz file.')
  if (trailer.readUInt32LE(0) !== checksum || trailer.readUInt32LE(4) !== size % 2 ** 32)
    rejectArchive('The archive is damaged: its gzip checksum does not match. Upload it again.')
}

/** Returns whether an error is zlib's error for invalid input data. */
export function isBrokenDeflate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'Z_DATA_ERROR' || error.code === 'Z_BUF_ERROR')
}

/** Maximum header length in bytes: the ten fixed bytes plus a file name. */
const maxHeader = 4096
const trailerLength = 8

async function* withoutHeader(source: Chunks): Chunks {
  let start: Buffer | null = Buffer.alloc(0)
  for await (const chunk of source) {
    if (start === null) {
      yield chunk
      continue
    }
    start = Buffer.concat([start, chunk])
    const length = headerLength(start)
    if (length !== null) {
      yield start.subarray(length)
      start = null
    }
  }
  if (start !== null) rejectArchive(start.length === 0 ? empty : truncated)
}

/** Passes all but the last eight bytes through, and reports those at the end. */
async function* withoutTrailer(source: Chunks, onTrailer: (trailer: Buffer) => void): Chunks {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    const all = Buffer.concat([held, chunk])
    const cut = Math.max(0, all.length - trailerLength)
    held = all.subarray(cut)
    if (cut > 0) yield all.subarray(0, cut)
  }
  if (held.length < trailerLength) rejectArchive(truncated)
  onTrailer(held)
}

/** Returns the length of the gzip header in bytes, or null if more input is needed. Source: RFC 1952, section 2.3. */
function headerLength(start: Buffer): number | null {
  const magic = [0x1f, 0x8b, 8]
  if (magic.some((byte, index) => index < start.length && start[index] !== byte))
    rejectArchive('The uploaded file is not a gzip archive. Upload a .tar.gz file.')
  if (start.length < 10) return null
  const flags = start[3] ?? 0
  if (flags & 0xe0) rejectArchive('The uploaded file is not a gzip archive: reserved header flags are set.')
  let end: number | null = 10
  if (flags & 4) end = start.length < 12 ? null : 12 + start.readUInt16LE(10)
  if (flags & 8) end = afterZero(start, end)
  if (flags & 16) end = afterZero(start, end)
  if (flags & 2 && end !== null) end += 2
  if ((end ?? start.length) > maxHeader) rejectArchive('The gzip header of the archive is too long. Pack it with `dart pub publish`.')
  return end !== null && end <= start.length ? end : null
}

function afterZero(start: Buffer, from: number | null): number | null {
  if (from === null) return null
  const zero = start.indexOf(0, from)
  return zero < 0 ? null : zero + 1
}

const empty = 'The uploaded file is empty. Upload a .tar.gz archive.'
const truncated = 'The archive is cut short. Upload it again.'
