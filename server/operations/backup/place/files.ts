import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { DamagedBytes } from '../../../platform/blobs/store.ts'
import { conflict } from '../../../errors.ts'

/** Size in bytes and SHA-256 of written or read data. */
export type Measured = { bytes: number; sha256: string }

/** Writes a new file durably, readable only by the current user, and returns its size and SHA-256. */
export async function writeHashed(path: string, source: AsyncIterable<Buffer | string> | Iterable<string>): Promise<Measured> {
  const sum = createHash('sha256')
  let bytes = 0
  await using file = await open(path, 'wx', 0o600)
  for await (const chunk of source) {
    const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    bytes += data.length
    sum.update(data)
    await file.appendFile(data)
  }
  await file.sync()
  return { bytes, sha256: sum.digest('hex') }
}

/** Returns the size and SHA-256 of a file. */
export async function hashFile(path: string): Promise<Measured> {
  const sum = createHash('sha256')
  const stream = createReadStream(path, { highWaterMark: 1 << 20 })
  await pipeline(stream, sum)
  return { bytes: stream.bytesRead, sha256: sum.digest('hex') }
}

/** Passes chunks through. @throws DamagedBytes at the end when the size or checksum differs from the expected one. */
export async function* expecting(source: AsyncIterable<Buffer>, expected: Measured): AsyncGenerator<Buffer> {
  const sum = createHash('sha256')
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    sum.update(chunk)
    if (bytes <= expected.bytes) yield chunk
  }
  if (bytes !== expected.bytes || sum.digest('hex') !== expected.sha256) throw new DamagedBytes(expected.sha256)
}

/** Passes chunks of a stream through and adds them to a hash. */
export async function* readInto(sum: Hash, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    sum.update(chunk)
    yield chunk
  }
}

/** Reads the lines of a text file. @throws RangeError for a line longer than `maxLength` characters. */
export const linesOf = (path: string, maxLength?: number): AsyncGenerator<string> =>
  readLines(decoded(createReadStream(path, { highWaterMark: 1 << 18 })), maxLength)

/** Reads the lines of a UTF-8 stream. */
export const linesIn = (chunks: AsyncIterable<Buffer>): AsyncGenerator<string> => readLines(decoded(chunks))

async function* decoded(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  for await (const chunk of chunks) yield decoder.write(chunk)
  yield decoder.end()
}

/** Maximum length of a line. Several times the longest row that the server writes. */
const maxLineLength = 2 ** 27

/**
 * Splits text into lines at line feeds only. Unlike readline, it does not split at characters such as U+2028.
 * @throws RangeError for a line longer than the limit, which would not fit into memory.
 */
export async function* readLines(text: AsyncIterable<string>, maxLength = maxLineLength): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxLength) throw new RangeError(`A line has more than ${maxLength} characters.`)
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Builds the error for a backup file whose checksum does not match. */
export const damaged = (path: string) => conflict(`The backup is damaged: ${path} is missing or corrupt. Use another backup.`)
