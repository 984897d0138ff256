import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { z } from 'zod'
import { packMark } from './pack.ts'

/** A page in a packed file: position of its gzip stream, unpacked size in bytes, and strong ETag of the unpacked content. */
export type PackedPage = { offset: number; length: number; size: number; etag: string }

/** Reads a range of bytes of a packed file; `end` is inclusive. */
export type ReadRange = (range: { start: number; end: number }) => Promise<Buffer>

/**
 * Reads the index of a packed file of `bytes` bytes. Returns the pages by path.
 * @throws Error when the file is not in the packed format.
 */
export async function readIndex(bytes: number, read: ReadRange): Promise<ReadonlyMap<string, PackedPage>> {
  // Most indexes fit into the last 64 KiB of the file, so one read is enough.
  const tailStart = Math.max(0, bytes - tailBytes)
  const tail = await read({ start: tailStart, end: bytes - 1 })
  const trailer = tail.subarray(-8)
  const length = trailer.length === 8 ? trailer.readUInt32BE() : 0
  const start = bytes - 8 - length
  if (length === 0 || trailer.toString('latin1', 4) !== packMark || start < 0) throw new Error('This is not packed documentation.')
  const packed = start >= tailStart ? tail.subarray(start - tailStart, -8) : await read({ start, end: bytes - 9 })
  const rows = indexShape.parse(JSON.parse((await unzip(packed, { maxOutputLength: maxIndexBytes })).toString()))
  return new Map(rows.map(([path, offset, size, whole, etag]) => [path, { offset, length: size, size: whole, etag }]))
}

const tailBytes = 64 * 1024
const maxIndexBytes = 32 * 1024 ** 2
const position = z.int().nonnegative()
const indexShape = z.array(z.tuple([z.string(), position, position, position, z.string()]))
const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)
