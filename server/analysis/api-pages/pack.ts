import { hash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { gunzip, gzipSync } from 'node:zlib'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Page } from './page.ts'
import { isPagePath } from './symbols.ts'

/** Number of pages, without indexes, and size of a packed file. */
export type Packed = { pages: number; bytes: number }

/** Thrown when documentation exceeds a limit on the number or size of pages. */
export class PagesTooLarge extends Error {
  constructor(what: string) {
    super(`The documentation is too large: ${what}.`)
    this.name = 'PagesTooLarge'
  }
}

/**
 * Writes pages into one file: each as a separate gzip stream that can be served unchanged, then an index. The same pages always give the same bytes.
 * @throws PagesTooLarge when a limit is exceeded. The file is deleted in case of an error.
 */
export async function packPages(pages: Iterable<Page> | AsyncIterable<Page>, file: string): Promise<Packed> {
  try {
    return await write(pages, file)
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

/** Limits for packing; larger documentation is rejected. */
export const maxPages = 50_000
export const maxPageBytes = 16 * 1024 ** 2
const maxBytes = 1024 ** 3
/** Maximum size of a packed file, in bytes. */
export const maxPackedBytes = 256 * 1024 ** 2
/** Size of the write buffer, in bytes. */
const chunkBytes = 1024 ** 2
const gzipLevel = 5

async function write(pages: Iterable<Page> | AsyncIterable<Page>, path: string): Promise<Packed> {
  await using file = await open(path, 'w')
  const index: [path: string, offset: number, length: number, size: number, etag: string][] = []
  let [waiting, waitingBytes, offset, total, count]: [Buffer[], number, number, number, number] = [[], 0, 0, 0, 0]
  const flush = async () => {
    if (waitingBytes > 0) await file.appendFile(Buffer.concat(waiting))
    ;[waiting, waitingBytes] = [[], 0]
  }
  for await (const page of pages) {
    const content = Buffer.from(page.content)
    total += content.length
    if (++count > maxPages) throw new PagesTooLarge(`it has more than ${maxPages} pages`)
    if (content.length > maxPageBytes) throw new PagesTooLarge(`the page ${page.path} has ${content.length} bytes`)
    if (total > maxBytes) throw new PagesTooLarge(`its pages have more than ${maxBytes} bytes`)
    const packed = gzipSync(content, { level: gzipLevel })
    index.push([page.path, offset, packed.length, content.length, hash('sha256', content).slice(0, 20)])
    offset += packed.length
    waiting.push(packed)
    if ((waitingBytes += packed.length) > chunkBytes) await flush()
    if (offset > maxPackedBytes) throw new PagesTooLarge(`it has more than ${maxPackedBytes} bytes when it is compressed`)
  }
  const packed = gzipSync(JSON.stringify(index), { level: gzipLevel })
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32BE(packed.length)
  trailer.write(packMark, 4, 'latin1')
  waiting.push(packed, trailer)
  waitingBytes += packed.length + trailer.length
  await flush()
  await file.sync()
  return { pages: index.filter(([path]) => isPagePath(path)).length, bytes: offset + packed.length + trailer.length }
}

/** Format marker, the last bytes of the file. */
const packMark = 'API1'

/** A page in a packed file: position of its gzip stream, unpacked size in bytes, and strong ETag of the unpacked content. */
export type PackedPage = { offset: number; length: number; size: number; etag: string }

/** Reads a range of bytes of a packed file; `end` is inclusive. */
type ReadRange = (range: { start: number; end: number }) => Promise<Buffer>

/** Reads the index of a packed file of `bytes` bytes. Returns the pages by path. @throws Error when the file has another format. */
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
