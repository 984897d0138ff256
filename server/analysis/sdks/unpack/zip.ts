import { buffer } from 'node:stream/consumers'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { type Folder, type Report, UnpackRefused } from './folder.ts'

const fileType = 0o170000
const [regular, folder, link, unknown] = [0o100000, 0o040000, 0o120000, 0]
const maxTarget = 4096

/** Unpacks a zip archive. Reports the progress in unpacked bytes. */
export async function unpackZip(path: string, into: Folder, report: Report): Promise<void> {
  const total = await sizeOf(path)
  let done = 0
  for await (const { entry, zip } of entriesOf(path)) {
    await unpackEntry(zip, entry, into)
    done += entry.uncompressedSize
    report(done, total)
  }
}

/** Returns the texts of entries that have one of the wanted paths and at most 1 KiB, keyed by path. */
export async function readFromZip(path: string, wanted: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for await (const { entry, zip } of entriesOf(path)) {
    if (!wanted.includes(entry.fileName) || entry.uncompressedSize > 1024) continue
    found.set(entry.fileName, (await buffer(await zip.openReadStreamPromise(entry))).toString())
  }
  return found
}

/** Returns the total unpacked size that a zip archive declares, in bytes. */
export async function sizeOf(path: string): Promise<number> {
  let total = 0
  for await (const { entry } of entriesOf(path)) total += entry.uncompressedSize
  return total
}

async function unpackEntry(zip: ZipFile, entry: Entry, into: Folder): Promise<void> {
  if (entry.isEncrypted()) throw new UnpackRefused(`The archive is encrypted.`)
  const attributes = entry.externalFileAttributes >>> 16
  const type = attributes & fileType
  if (entry.fileName.endsWith('/') && (type === folder || type === unknown)) return into.folder(entry.fileName)
  if (type === regular || type === unknown)
    return into.file(entry.fileName, { mode: attributes & 0o777, modified: entry.getLastModDate() }, await zip.openReadStreamPromise(entry))
  if (type !== link || entry.uncompressedSize > maxTarget)
    throw new UnpackRefused(`The archive has ${JSON.stringify(entry.fileName)}, which is neither a file nor a folder nor a link.`)
  into.link(entry.fileName, (await buffer(await zip.openReadStreamPromise(entry))).toString())
}

async function* entriesOf(path: string): AsyncGenerator<{ entry: Entry; zip: ZipFile }> {
  // With strictFileNames, yauzl rejects paths that lead out of the archive.
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false, strictFileNames: true })
  try {
    for await (const entry of zip.eachEntry()) yield { entry, zip }
  } finally {
    zip.close()
  }
}
