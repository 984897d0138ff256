import { createHash } from 'node:crypto'
import { close, constants, fstatSync, open, read } from 'node:fs'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Bytes } from './verified-reads.ts'

type StreamOptions = {
  /** Both positions are inclusive. */
  range?: { start: number; end: number } | undefined
  isTaken?: (() => boolean) | undefined
  check?: (fd: number) => Promise<void>
  /** Flags for opening the file. */
  flags?: number
}

const chunkBytes = 256 * 1024

/**
 * Streams a file or a range of it. Rejects with ENOENT if the file does not exist, and with the error that `check` throws for the open file.
 * `isTaken` returns true when the previous chunk has been consumed, so that its buffer can be reused. Otherwise each chunk needs a new buffer, and
 * collecting it costs more than reading and sending.
 */
export async function streamFile(path: string, options: StreamOptions = {}): Promise<Readable> {
  const { range: { start, end } = { start: 0, end: Infinity }, isTaken = () => false, check, flags = constants.O_RDONLY } = options
  const fd = await openDescriptor(path, flags)
  await check?.(fd).catch(async (error: unknown) => {
    await closeDescriptor(fd)
    throw error
  })
  const endExclusive = Math.min(fstatSync(fd).size, end + 1)
  let position = start
  let chunk: Buffer | undefined
  let reading: Promise<unknown> = Promise.resolve()
  async function readNext(stream: Readable): Promise<void> {
    const wanted = Math.min(chunkBytes, endExclusive - position)
    if (wanted <= 0) return void stream.push(null)
    if (!chunk || !isTaken()) chunk = Buffer.allocUnsafeSlow(wanted)
    const { bytesRead } = await readDescriptor(fd, chunk, 0, wanted, position)
    position += bytesRead
    stream.push(bytesRead > 0 ? chunk.subarray(0, bytesRead) : null)
  }
  return new Readable({
    highWaterMark: 0, // reads on demand, never ahead
    read() {
      reading = readNext(this).catch((error: Error) => this.destroy(error))
    },
    destroy(error, done) {
      // Close the descriptor only after a pending read, because the operating system may reuse its number for another file.
      closeAfter(fd, reading, (failure) => done(error ?? failure))
    },
  })
}

/** Returns the content of an open file for verification. A file that is rewritten gets a new identity. */
export const bytesOf = (fd: number): Bytes => ({
  identity() {
    const { size, mtimeMs, ino } = fstatSync(fd)
    return `${size} ${mtimeMs} ${ino}`
  },
  hash: () => hashOf(fd),
})

async function hashOf(fd: number): Promise<string> {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, fstatSync(fd).size))
  for (let position = 0; ;) {
    const { bytesRead } = await readDescriptor(fd, chunk, 0, chunk.length, position)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(chunk.subarray(0, bytesRead))
    position += bytesRead
  }
}

function closeAfter(fd: number, reading: Promise<unknown>, done: (failure: Error | null) => void): void {
  const closeNow = () => close(fd, done)
  reading.then(closeNow, closeNow)
}

const openDescriptor = promisify<string, number, number>(open)
const closeDescriptor = promisify(close)
const readDescriptor = promisify(read)
