import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { packageRejected } from '../../errors.ts'
import { documentRank, mayBeExample, type RootDocument, rootDocuments, type TextFile, decodeText } from './documents.ts'
import { gzipStages, isBrokenDeflate, unzipWhole } from './gzip.ts'
import { addPath, type ArchiveFile, archiveTree, type ArchiveTree, plainPath } from './path.ts'
import { quoted, rejectArchive } from './reject.ts'
import { checkTarChunk, checkTarEnd, type TarEntry, tarFraming, type TarFraming, unpackTar } from './tar.ts'

/** Archive limits; sizes in bytes. `exampleBytes` limits all example candidates together, which are kept until the package name is known. */
export type ArchiveLimits = typeof archiveLimits

/** Default limits. Source: what the pub client packs and accepts. */
const archiveLimits = {
  unpackedBytes: 256 * 1024 ** 2,
  entries: 65_536,
  pathCharacters: 8 * 1024 ** 2,
  manifestBytes: 128 * 1024,
  documentBytes: 256 * 1024,
  exampleBytes: 8 * 1024 ** 2,
}

/** The parts of an archive that are kept. `pickExample` selects one of `examples` once the package name is known. */
export type ArchiveContents = Record<RootDocument, TextFile | null> & {
  pubspecText: string
  examples: TextFile[]
  files: ArchiveFile[]
}

/** A buffered archive that unpacks to at most this many bytes is unpacked in a single step. */
const maxWholeBytes = 2 * 1024 ** 2

/** Called for each file. Returns a consumer for the file's content, or undefined to skip the content. */
export type FileVisitor = (file: ArchiveFile) => ((chunk: Uint8Array) => void) | undefined

/**
 * Reads a .tar.gz package in a single pass with bounded memory. Always destroys the stream. Files that are not kept are passed to `others`. Throws
 * `PackageRejected` with the first reason to reject the archive. Errors of the source are rethrown unchanged.
 */
export async function readArchive(
  source: Readable | Buffer,
  limits: Partial<ArchiveLimits> = {},
  others: FileVisitor = () => undefined,
): Promise<ArchiveContents> {
  const bounds = { ...archiveLimits, ...limits }
  const reading = start(bounds, others)
  await eachFile(source, bounds, (file) => consumerFor(reading, file))
  return finish(reading)
}

/**
 * Calls `visitor` for each file of a .tar.gz package, after validating the file's path and size, with bounded memory. Always destroys the stream.
 * Throws the same errors as `readArchive`.
 */
export async function eachFile(source: Readable | Buffer, limits: Partial<ArchiveLimits>, visitor: FileVisitor): Promise<void> {
  const bounds = { ...archiveLimits, ...limits }
  const framing = tarFraming(bounds)
  const tree = archiveTree(bounds)
  const unpack = (chunks: AsyncIterable<Buffer> | Buffer[]) =>
    unpackTar(checkedChunks(framing, chunks), (entry) => visit(tree, entry, visitor))
  try {
    const whole = Buffer.isBuffer(source) ? unzipWhole(source, maxWholeBytes) : null
    if (whole) await unpack([whole])
    else await unpackStream(Buffer.isBuffer(source) ? Readable.from([source]) : source, unpack)
  } catch (error) {
    throw isBrokenDeflate(error) ? packageRejected('The archive is damaged or cut short. Upload it again.') : error
  }
}

async function unpackStream(source: Readable, unpack: (chunks: AsyncIterable<Buffer>) => Promise<void>): Promise<void> {
  const [unwrap, inflate, verify] = gzipStages()
  try {
    await pipeline(source, unwrap, inflate, verify, unpack)
  } finally {
    source.destroy()
  }
}

type Kept = { path: string; rank: number; chunks: Buffer[] }
type Reading = ReturnType<typeof start>

const start = (limits: ArchiveLimits, others: FileVisitor) => ({
  limits,
  others,
  files: Array<ArchiveFile>(),
  manifest: Array<Buffer>(),
  documents: new Map<RootDocument, Kept>(),
  examples: Array<Kept>(),
  exampleBytes: 0,
})

async function* checkedChunks(framing: TarFraming, chunks: AsyncIterable<Buffer> | Buffer[]) {
  for await (const chunk of chunks) {
    checkTarChunk(framing, chunk)
    yield chunk
  }
  checkTarEnd(framing)
}

function visit(tree: ArchiveTree, { path: raw, type, size }: TarEntry, visitor: FileVisitor) {
  const path = plainPath(raw)
  if (type !== 'file' && type !== 'directory')
    rejectArchive(`The archive has ${quoted(path)} as a ${type}. Only files and directories are allowed.`)
  if (type === 'file' && (path === '' || raw.endsWith('/')))
    rejectArchive(`The archive has ${quoted(raw)} as a file. Pack it with \`dart pub publish\`.`)
  addPath(tree, path, type)
  return type === 'directory' ? undefined : visitor({ path, size })
}

function consumerFor(reading: Reading, { path, size }: ArchiveFile) {
  reading.files.push({ path, size })
  const { manifestBytes, documentBytes, exampleBytes } = reading.limits
  if (path === manifestName) {
    if (size > manifestBytes) rejectArchive(`pubspec.yaml is larger than ${manifestBytes} bytes, which is the limit. Shorten it.`)
    return (chunk: Uint8Array) => void reading.manifest.push(Buffer.from(chunk))
  }
  for (const kind of rootDocuments) {
    const rank = documentRank(kind, path)
    if (rank === null || rank >= (reading.documents.get(kind)?.rank ?? Infinity)) continue
    const kept: Kept = { path, rank, chunks: [] }
    reading.documents.set(kind, kept)
    return keep(kept, documentBytes)
  }
  const cost = Math.max(1024, Math.min(size, documentBytes))
  if (!mayBeExample(path) || reading.exampleBytes + cost > exampleBytes) return reading.others({ path, size })
  const kept: Kept = { path, rank: 0, chunks: [] }
  reading.exampleBytes += cost
  reading.examples.push(kept)
  return keep(kept, documentBytes)
}

/** Copies chunks up to the limit plus a few bytes, so that the text can be truncated at a character boundary. */
function keep(kept: Kept, limit: number) {
  let left = limit + 4
  return (chunk: Uint8Array) => {
    if (left > 0) kept.chunks.push(Buffer.from(chunk.subarray(0, left)))
    left -= chunk.length
  }
}

function finish({ limits, files, manifest, documents, examples }: Reading): ArchiveContents {
  const document = (kept: Kept): TextFile => ({ path: kept.path, text: decodeText(Buffer.concat(kept.chunks), limits.documentBytes) })
  const found = (kind: RootDocument) => {
    const kept = documents.get(kind)
    return kept ? document(kept) : null
  }
  const texts = { readme: found('readme'), changelog: found('changelog'), license: found('license'), examples: examples.map(document) }
  return { pubspecText: manifestIn(files, Buffer.concat(manifest)), ...texts, files }
}

/** The manifest must be at the root of the archive under exactly this name. */
export const manifestName = 'pubspec.yaml'

/**
 * Returns the manifest's text. Throws `PackageRejected` if it is not UTF-8, or if it is missing; the message then names a misplaced or misnamed file.
 */
export function manifestIn(files: readonly ArchiveFile[], content: Buffer): string {
  if (files.length === 0) rejectArchive('The archive is empty. Pack a package with pubspec.yaml at its root.')
  if (!files.some(({ path }) => path === manifestName)) rejectArchive(missing(files))
  const notUtf8 = 'pubspec.yaml is not UTF-8. Save it as UTF-8.'
  // Most text in UTF-16 is valid UTF-8, with a NUL in each character.
  if (content.includes(0)) rejectArchive(notUtf8)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    return rejectArchive(notUtf8)
  }
}

function missing(files: readonly ArchiveFile[]): string {
  const misnamed = files.find(({ path }) => /^pubspec\.ya?ml$/i.test(path))
  if (misnamed) return `The manifest is called ${quoted(misnamed.path)}. Rename it to pubspec.yaml.`
  const elsewhere = files.find(({ path }) => path.endsWith(`/${manifestName}`))
  if (elsewhere)
    return `pubspec.yaml is not at the root of the archive but at ${quoted(elsewhere.path)}. Pack the contents of the package directory, not the directory.`
  return 'The archive has no pubspec.yaml at its root. Add one.'
}

/**
 * Extracts a package into a folder that no other process writes to. The same rules apply as when publishing: valid paths, no links, no duplicates,
 * and the size limits. Always destroys the stream.
 * @returns the files that were written.
 * @throws ApiError PackageRejected for an invalid archive. Files already written remain.
 */
export async function unpackInto(source: Readable, folder: string): Promise<ArchiveFile[]> {
  const files: ArchiveFile[] = []
  const made = new Set<string>()
  await eachFile(source, {}, (file) => {
    const path = join(folder, file.path)
    if (!made.has(dirname(path))) mkdirSync(dirname(path), { recursive: true })
    made.add(dirname(path))
    files.push(file)
    return writer(path, file.size)
  })
  return files
}

/** Writes a file's content in chunks and closes the file after the last byte. */
function writer(path: string, size: number): (chunk: Uint8Array) => void {
  // The `wx` flag never follows or replaces an existing file.
  const file = openSync(path, 'wx', 0o644)
  let left = size
  const close = () => left <= 0 && closeSync(file)
  close()
  return (chunk) => {
    if (left <= 0) return
    writeSync(file, chunk)
    left -= chunk.length
    close()
  }
}
