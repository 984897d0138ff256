import { hash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import type { Page } from './frame.ts'

/** Number of pages and size of a packed file. */
export type Packed = { pages: number; bytes: number }

/** Thrown when documentation exceeds a limit on the number or size of pages. */
export class PagesTooLarge extends Error {
  constructor(what: string) {
    super(`The documentation is too large: ${what}.`)
    this.name = 'PagesTooLarge'
  }
}

/**
 * Writes pages into one file: each page as a separate gzip stream that can be served unchanged, followed by an index (read-index.ts). The same pages
 * always give the same bytes.
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
  return { pages: count, bytes: offset + packed.length + trailer.length }
}

/** Format marker, the last bytes of the file. */
export const packMark = 'API1'
