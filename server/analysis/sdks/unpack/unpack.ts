import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract, type Header } from 'tar-stream'
import xz from 'xz-decompress'
import { type Entry as ZipEntry, openPromise, type ZipFile } from 'yauzl'
import { type Bounds, diskFullMessage, Folder, unpackFailure, type Report, type Unpacked, UnpackRejected } from './folder.ts'

/** A task for the archive worker thread: hash an archive, unpack it, or read small text files from it. */
export type Task =
  | { do: 'hash'; archive: string }
  | { do: 'unpack'; archive: string; into: string; top: string; bounds: Bounds; availableBytes: number }
  | { do: 'read'; archive: string; paths: string[] }

/** Performs a task and reports its progress in bytes. @throws UnpackRejected when the archive is invalid or the disk is full. */
export async function perform(task: Task, report: Report): Promise<unknown> {
  try {
    if (task.do === 'hash') return await hash(task.archive, report)
    if (task.do === 'read') return await read(task)
    return await unpack(task, report)
  } catch (error) {
    throw unpackFailure(error)
  }
}

async function hash(path: string, report: Report): Promise<string> {
  const sha256 = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    sha256.update(chunk)
    report((bytes += chunk.length), 0)
  }
  return sha256.digest('hex')
}

async function unpack({ archive, into, top, bounds, availableBytes }: Task & { do: 'unpack' }, report: Report): Promise<Unpacked> {
  const format = await formatOf(archive)
  if (format === 'zip' && (await sizeOf(archive)) > availableBytes) throw new UnpackRejected(diskFullMessage)
  // Deletes the files of an interrupted attempt.
  await rm(into, { recursive: true, force: true })
  await mkdir(into, { recursive: true, mode: 0o755 })
  const target = new Folder(into, top, bounds)
  await (format === 'zip' ? unpackZip : unpackTarXz)(archive, target, report)
  return target.finish()
}

async function read({ archive, paths }: Task & { do: 'read' }): Promise<Record<string, string>> {
  const format = await formatOf(archive)
  return Object.fromEntries(await (format === 'zip' ? readFromZip : readFromTarXz)(archive, paths))
}

async function formatOf(path: string): Promise<'zip' | 'tar.xz'> {
  const file = await open(path)
  try {
    const { buffer: start } = await file.read(Buffer.alloc(6), 0, 6, 0)
    if (start.subarray(0, 4).equals(zipSignature)) return 'zip'
    if (start.equals(xzSignature)) return 'tar.xz'
  } finally {
    await file.close()
  }
  throw new UnpackRejected('The archive is neither a zip nor a tar.xz file.')
}

const zipSignature = Buffer.from('PK\x03\x04', 'latin1')
const xzSignature = Buffer.from('\xfd7zXZ\0', 'latin1')

type TarEntry = AsyncIterable<Uint8Array> & { header: Header; resume: () => void }

/** Unpacks a .tar.xz archive. Reports the progress in bytes of the compressed archive. */
async function unpackTarXz(path: string, into: Folder, report: Report): Promise<void> {
  const { size } = await stat(path)
  for await (const { entry, read } of tarEntries(path)) {
    await unpackTarEntry(entry, into)
    report(read(), size)
  }
}

/** Returns the text of the first entry that has one of the wanted paths and at most 1 KiB, keyed by path. */
async function readFromTarXz(path: string, wanted: readonly string[]): Promise<Map<string, string>> {
  for await (const { entry } of tarEntries(path)) {
    const name = entry.header.name.replace(/^(\.\/)+/, '')
    if (wanted.includes(name) && (entry.header.size ?? 0) <= 1024) return new Map([[name, (await buffer(entry)).toString()]])
    entry.resume()
  }
  return new Map()
}

async function unpackTarEntry(entry: TarEntry, into: Folder): Promise<void> {
  const { name, type, mode, linkname, mtime: modified } = entry.header
  if (type === 'file' || type === 'contiguous-file') return into.file(name, { mode, modified }, entry)
  entry.resume()
  if (type === 'directory') return into.folder(name)
  if (type === 'symlink') return into.link(name, linkname ?? '')
  if (type === 'link') return into.copy(name, linkname ?? '')
  throw new UnpackRejected(`The archive has ${JSON.stringify(name)}, which is neither a file nor a folder nor a link.`)
}

async function* tarEntries(path: string): AsyncGenerator<{ entry: TarEntry; read: () => number }> {
  const file = createReadStream(path, { highWaterMark: 1024 * 1024 })
  const plain = Readable.fromWeb(new xz.XzReadableStream(Readable.toWeb(file) as never) as never)
  const tar = extract()
  const fail = (error: Error) => tar.destroy(error)
  file.once('error', fail)
  plain.once('error', fail)
  plain.pipe(tar)
  try {
    for await (const entry of tar) yield { entry: entry as TarEntry, read: () => file.bytesRead }
  } finally {
    file.destroy()
    plain.destroy()
  }
}

const fileType = 0o170000
const [regular, folder, link, unknown] = [0o100000, 0o040000, 0o120000, 0]
const maxTarget = 4096

/** Unpacks a zip archive. Reports the progress in unpacked bytes. */
async function unpackZip(path: string, into: Folder, report: Report): Promise<void> {
  const total = await sizeOf(path)
  let done = 0
  for await (const { entry, zip } of zipEntries(path)) {
    await unpackZipEntry(zip, entry, into)
    done += entry.uncompressedSize
    report(done, total)
  }
}

/** Returns the texts of entries that have one of the wanted paths and at most 1 KiB, keyed by path. */
async function readFromZip(path: string, wanted: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for await (const { entry, zip } of zipEntries(path)) {
    if (!wanted.includes(entry.fileName) || entry.uncompressedSize > 1024) continue
    found.set(entry.fileName, (await buffer(await zip.openReadStreamPromise(entry))).toString())
  }
  return found
}

/** Returns the total unpacked size that a zip archive declares, in bytes. */
async function sizeOf(path: string): Promise<number> {
  let total = 0
  for await (const { entry } of zipEntries(path)) total += entry.uncompressedSize
  return total
}

async function unpackZipEntry(zip: ZipFile, entry: ZipEntry, into: Folder): Promise<void> {
  if (entry.isEncrypted()) throw new UnpackRejected(`The archive is encrypted.`)
  const attributes = entry.externalFileAttributes >>> 16
  const type = attributes & fileType
  if (entry.fileName.endsWith('/') && (type === folder || type === unknown)) return into.folder(entry.fileName)
  if (type === regular || type === unknown)
    return into.file(entry.fileName, { mode: attributes & 0o777, modified: entry.getLastModDate() }, await zip.openReadStreamPromise(entry))
  if (type !== link || entry.uncompressedSize > maxTarget)
    throw new UnpackRejected(`The archive has ${JSON.stringify(entry.fileName)}, which is neither a file nor a folder nor a link.`)
  into.link(entry.fileName, (await buffer(await zip.openReadStreamPromise(entry))).toString())
}

async function* zipEntries(path: string): AsyncGenerator<{ entry: ZipEntry; zip: ZipFile }> {
  // With strictFileNames, yauzl rejects paths that lead out of the archive.
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false, strictFileNames: true })
  try {
    for await (const entry of zip.eachEntry()) yield { entry, zip }
  } finally {
    zip.close()
  }
}
