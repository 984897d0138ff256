import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { type Bounds, diskFullMessage, Folder, refusalOf, type Report, type Unpacked, UnpackRefused } from './folder.ts'
import { readFromTarXz, unpackTarXz } from './tar-xz.ts'
import { readFromZip, sizeOf, unpackZip } from './zip.ts'

/** A task for the archive worker thread: hash an archive, unpack it, or read small text files from it. */
export type Task =
  | { do: 'hash'; archive: string }
  | { do: 'unpack'; archive: string; into: string; top: string; bounds: Bounds; availableBytes: number }
  | { do: 'read'; archive: string; paths: string[] }

/** Performs a task and reports its progress in bytes. @throws UnpackRefused when the archive is invalid or the disk is full. */
export async function perform(task: Task, report: Report): Promise<unknown> {
  try {
    if (task.do === 'hash') return await hash(task.archive, report)
    if (task.do === 'read') return await read(task)
    return await unpack(task, report)
  } catch (error) {
    throw refusalOf(error)
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
  if (format === 'zip' && (await sizeOf(archive)) > availableBytes) throw new UnpackRefused(diskFullMessage)
  // Deletes the files of an interrupted attempt.
  await rm(into, { recursive: true, force: true })
  await mkdir(into, { recursive: true, mode: 0o755 })
  const folder = new Folder(into, top, bounds)
  await (format === 'zip' ? unpackZip : unpackTarXz)(archive, folder, report)
  return folder.finish()
}

async function read({ archive, paths }: Task & { do: 'read' }): Promise<Record<string, string>> {
  const format = await formatOf(archive)
  return Object.fromEntries(await (format === 'zip' ? readFromZip : readFromTarXz)(archive, paths))
}

async function formatOf(path: string): Promise<'zip' | 'tar.xz'> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(6), 0, 6, 0)
    if (buffer.subarray(0, 4).equals(zipSignature)) return 'zip'
    if (buffer.equals(xzSignature)) return 'tar.xz'
  } finally {
    await file.close()
  }
  throw new UnpackRefused('The archive is neither a zip nor a tar.xz file.')
}

const zipSignature = Buffer.from('PK\x03\x04', 'latin1')
const xzSignature = Buffer.from('\xfd7zXZ\0', 'latin1')
