import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { DamagedBytes } from '../../blobs/store.ts'

/** What was written or read: how much, and its SHA-256. */
export type Measured = { bytes: number; sha256: string }

/** Writes a new file that only this account may read, durably. */
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

/** The SHA-256 of a file. */
export async function hashFile(path: string): Promise<Measured> {
  const sum = createHash('sha256')
  const stream = createReadStream(path, { highWaterMark: 1 << 20 })
  await pipeline(stream, sum)
  return { bytes: stream.bytesRead, sha256: sum.digest('hex') }
}

/** Hands on what comes. @throws DamagedBytes in the end when it was not what was expected. */
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

/** The bytes of a file. It is opened when the first of them are asked for, so that whoever asks learns when it is not there. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>
}

/** Reads a file, and adds what is read to a hash. */
export async function* readInto(sum: Hash, path: string): AsyncGenerator<Buffer> {
  for await (const chunk of chunksOf(path)) {
    sum.update(chunk)
    yield chunk
  }
}

/** The lines of a text file. */
export const linesOf = (path: string): AsyncGenerator<string> =>
  splitLines(createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 18 }) as AsyncIterable<string>)

/** The lines of a text. Only line feeds end them: characters like U+2028, at which readline does too, may be in a line. */
export async function* splitLines(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
