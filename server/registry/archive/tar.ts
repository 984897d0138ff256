import { type Extract, extract as unpacker } from 'tar-stream'
import { packageRejected } from '../../errors.ts'
import { rejectArchive } from './reject.ts'

/** Limits for a tar: total unpacked bytes, and number of entries. */
export type TarLimits = { unpackedBytes: number; entries: number }

export type TarFraming = ReturnType<typeof tarFraming>

export function tarFraming(limits: TarLimits) {
  return {
    limits,
    block: Buffer.alloc(512),
    filled: 0,
    body: 0,
    padding: 0,
    total: 0,
    entries: 0,
    emptyBlocks: 0,
    extension: noExtension,
    announced: new Set<string>(),
  }
}

/**
 * Checks the next chunk of a tar before the tar reader receives it. Rejects anything that readers interpret differently or that could exhaust their
 * resources: sizes not in plain octal, PAX records that change a size, sparse files, two names for one entry, and data after the end marker.
 * tar-stream and the pub client's reader then agree on all entry boundaries. Throws `PackageRejected`.
 */
export function checkTarChunk(tar: TarFraming, chunk: Buffer): void {
  for (let offset = 0; offset < chunk.length;) {
    const taken = step(tar, chunk.subarray(offset))
    offset += taken
    tar.total += taken
    if (tar.total > tar.limits.unpackedBytes) rejectArchive(tooLarge(tar.limits))
  }
}

/** Checks the end of a tar. Throws `PackageRejected` if the tar ends within an entry. */
export function checkTarEnd({ filled, body, padding, announced }: TarFraming): void {
  if (filled > 0 || body > 0 || padding > 0 || announced.size > 0) rejectArchive('The tar inside the archive is cut short. Pack it again.')
}

const noExtension: { type: string; content: Buffer[] } | null = null
const emptyBlock = Buffer.alloc(512)
/** Maximum padding at the end: 1 MiB. Tar writers pad with at most a few hundred blocks. */
const maxEmptyBlocks = 2048
const files = '0\0'
/** Type flags of entries. Links and devices are included, because read.ts rejects them with their path in the message. */
const entryTypes = `${files}123456`

const tooLarge = ({ unpackedBytes }: TarLimits) =>
  `The archive unpacks to more than ${unpackedBytes} bytes, which is the limit. Remove files that users of the package do not need.`

/** Processes the next part of the input and returns its length. */
function step(tar: TarFraming, rest: Buffer): number {
  if (tar.body > 0) return takeBody(tar, rest.subarray(0, tar.body))
  if (tar.padding > 0) {
    const skipped = Math.min(tar.padding, rest.length)
    tar.padding -= skipped
    return skipped
  }
  const copied = rest.copy(tar.block, tar.filled)
  tar.filled = (tar.filled + copied) % 512
  if (tar.filled === 0) takeHeader(tar)
  return copied
}

function takeBody(tar: TarFraming, piece: Buffer): number {
  tar.body -= piece.length
  tar.extension?.content.push(piece)
  if (tar.extension && tar.body === 0) {
    checkExtension(tar.extension.type, Buffer.concat(tar.extension.content))
    tar.extension = null
  }
  return piece.length
}

function takeHeader(tar: TarFraming) {
  if (tar.block.equals(emptyBlock)) {
    tar.emptyBlocks += 1
    if (tar.emptyBlocks > maxEmptyBlocks) rejectArchive('The archive is padded with too many empty blocks. Pack it again.')
    return
  }
  if (tar.emptyBlocks > 0) rejectArchive('The archive has data after the end of its tar. Pack it again.')
  const type = tar.block.toString('latin1', 156, 157)
  tar.body = sizeOf(tar.block)
  tar.padding = (512 - (tar.body % 512)) % 512
  if (tar.body > tar.limits.unpackedBytes - tar.total) rejectArchive(tooLarge(tar.limits))
  if (isExtension(type)) takeExtension(tar, type)
  else takeEntry(tar, type)
}

function takeExtension(tar: TarFraming, type: string) {
  if (tar.body === 0 || tar.body > maxExtension)
    rejectArchive(`The archive has an entry whose name or extended header is empty or longer than ${maxExtension} bytes. Shorten its path.`)
  const rival = { x: 'L', L: 'x' }[type] ?? type
  if (tar.announced.has(type) || tar.announced.has(rival))
    rejectArchive('The archive names an entry twice. Pack it with `dart pub publish`.')
  tar.announced.add(type)
  tar.extension = { type, content: [] }
}

function takeEntry(tar: TarFraming, type: string) {
  if (!entryTypes.includes(type))
    rejectArchive(`The archive has an entry of the unsupported type ${type}. Only files and directories are allowed.`)
  if (!files.includes(type) && tar.body > 0)
    rejectArchive('The archive has a directory or link with content. Pack it with `dart pub publish`.')
  tar.entries += 1
  if (tar.entries > tar.limits.entries) rejectArchive(`The archive has more than ${tar.limits.entries} entries, which is the limit.`)
  tar.announced.clear()
}

function sizeOf(block: Buffer): number {
  const match = /^ *([0-7]*)[ \0]*$/.exec(block.toString('latin1', 124, 136))
  if (!match) rejectArchive('The archive has an entry whose size is not written in octal digits. Pack it with `dart pub publish`.')
  return Number.parseInt(match[1] || '0', 8)
}

/** Maximum length of an extension header in bytes. The pub client's reader has the same limit (package:tar, `defaultSpecialLength`). */
const maxExtension = 2048

/** Maximum number of PAX records. Tar writers use about a dozen different keys. */
const maxRecords = 32

/** Returns whether a tar type flag announces metadata of the next entry: PAX `x` and `g`, GNU long name `L` and long link `K`. */
const isExtension = (type: string) => 'xgLK'.includes(type)

/**
 * Validates a PAX header. Rejects `size` and sparse maps, because they change where the next header starts. Global headers may only contain a comment
 * (as written by `git archive`), because they apply to all entries. Throws `PackageRejected`.
 */
function checkExtension(type: string, content: Buffer): void {
  if (type === 'L' || type === 'K') return
  const keys = paxKeys(content)
  if (keys === null) rejectArchive('The archive has a malformed PAX header. Pack it with `dart pub publish`.')
  const forbidden = keys.find((key) => (type === 'g' ? key !== 'comment' : key === 'size' || key.startsWith('GNU.sparse')))
  if (forbidden !== undefined)
    rejectArchive(`The archive has a PAX header that sets ${forbidden}, which is not allowed. Pack it with \`dart pub publish\`.`)
}

/** Returns the keys of `length key=value` records, or null if a length does not match its record. Source: POSIX pax, "Extended Header". */
function paxKeys(content: Buffer): string[] | null {
  const text = content.toString('latin1')
  const record = /(\d{1,4}) ([^=\n]+)=/y
  const keys: string[] = []
  for (let end = 0; end < text.length;) {
    record.lastIndex = end
    const [, length, key] = record.exec(text) ?? []
    end += Number(length)
    if (key === undefined || record.lastIndex >= end || text[end - 1] !== '\n' || keys.length === maxRecords) return null
    keys.push(key)
  }
  return keys
}

export type TarEntry = { path: string; type: string; size: number }

/** Called for each entry. Returns a consumer for the entry's content, or undefined to skip the content. May throw to stop. */
export type Visitor = (entry: TarEntry) => ((chunk: Uint8Array) => void) | undefined

/** Unpacks a tar for a visitor. Errors of the visitor and the source are rethrown unchanged. Throws `PackageRejected` for an invalid tar. */
export async function unpackTar(chunks: AsyncIterable<Buffer>, visit: Visitor): Promise<void> {
  // tar without a format mark is of Unix version 7. It has the same fields, but no prefix of names.
  const extract = unpacker({ allowUnknownFormat: true } as object) // missing in its types
  const closed = visited(extract, visit)
  try {
    for await (const chunk of chunks) {
      if (!extract.write(chunk)) await Promise.race([drained(extract), closed])
    }
    extract.end(null)
    await closed
  } finally {
    extract.destroy()
  }
}

/** Returns a promise that resolves when all entries have been visited, and rejects on failure. */
function visited(extract: Extract, visit: Visitor): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  promise.catch(() => undefined)
  const attempt = (work: () => void) => {
    try {
      work()
    } catch (error) {
      reject(error)
      extract.destroy()
    }
  }
  extract.on('entry', (header, content, next) =>
    attempt(() => {
      const take = visit({ path: header.name, type: header.type ?? 'unknown', size: header.size ?? 0 })
      if (take) content.on('data', (chunk) => attempt(() => chunk instanceof Uint8Array && take(chunk)))
      content.on('end', () => next())
      content.resume()
    }),
  )
  extract.on('error', () => reject(packageRejected('The archive is not a valid tar. Pack it with `dart pub publish`.')))
  extract.on('close', () => resolve())
  return promise
}

const drained = (extract: Extract) => new Promise<void>((resolve) => extract.once('drain', resolve))
