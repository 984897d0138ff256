import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract, type Header } from 'tar-stream'
import xz from 'xz-decompress'
import { type Folder, type Report, UnpackRefused } from './folder.ts'

type Entry = AsyncIterable<Uint8Array> & { header: Header; resume: () => void }

/** Unpacks a .tar.xz archive. Reports the progress in bytes of the compressed archive. */
export async function unpackTarXz(path: string, into: Folder, report: Report): Promise<void> {
  const { size } = await stat(path)
  for await (const { entry, read } of entriesOf(path)) {
    await unpackEntry(entry, into)
    report(read(), size)
  }
}

/** Returns the text of the first entry that has one of the wanted paths and at most 1 KiB, keyed by path. */
export async function readFromTarXz(path: string, wanted: readonly string[]): Promise<Map<string, string>> {
  for await (const { entry } of entriesOf(path)) {
    const name = entry.header.name.replace(/^(\.\/)+/, '')
    if (wanted.includes(name) && (entry.header.size ?? 0) <= 1024) return new Map([[name, (await buffer(entry)).toString()]])
    entry.resume()
  }
  return new Map()
}

async function unpackEntry(entry: Entry, into: Folder): Promise<void> {
  const { name, type, mode, linkname, mtime: modified } = entry.header
  if (type === 'file' || type === 'contiguous-file') return into.file(name, { mode, modified }, entry)
  entry.resume()
  if (type === 'directory') return into.folder(name)
  if (type === 'symlink') return into.link(name, linkname ?? '')
  if (type === 'link') return into.copy(name, linkname ?? '')
  throw new UnpackRefused(`The archive has ${JSON.stringify(name)}, which is neither a file nor a folder nor a link.`)
}

async function* entriesOf(path: string): AsyncGenerator<{ entry: Entry; read: () => number }> {
  const file = createReadStream(path, { highWaterMark: 1024 * 1024 })
  const plain = Readable.fromWeb(new xz.XzReadableStream(Readable.toWeb(file) as never) as never)
  const tar = extract()
  const fail = (error: Error) => tar.destroy(error)
  file.once('error', fail)
  plain.once('error', fail)
  plain.pipe(tar)
  try {
    for await (const entry of tar) yield { entry: entry as Entry, read: () => file.bytesRead }
  } finally {
    file.destroy()
    plain.destroy()
  }
}
