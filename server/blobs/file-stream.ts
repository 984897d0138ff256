import { close, open, read } from 'node:fs'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'

/** Inclusive positions of bytes. */
type Range = { start: number; end: number }

type StreamOptions = {
  range?: Range | undefined
  isTaken?: (() => boolean) | undefined
  check?: ((fd: number) => Promise<void>) | undefined
}

const chunkBytes = 256 * 1024

/**
 * Streams a file, or a range of it; rejects with ENOENT when there is none, and with what `check` rejects the open file. `isTaken` tells that nobody needs the chunk before any longer,
 * so that its memory may carry the next one. Without that every chunk is new memory, and collecting it costs more than reading and sending.
 */
export async function streamFile(path: string, options: StreamOptions = {}): Promise<Readable> {
  const { range: { start, end } = wholeFile, isTaken = () => false, check } = options
  const fd = await openDescriptor(path, 'r')
  if (check) await check(fd).catch((error: unknown) => closeAndThrow(fd, error))
  let position = start
  let chunk: Buffer | undefined
  let reading: Promise<unknown> | undefined
  async function readNext(stream: Readable): Promise<void> {
    const wanted = Math.min(chunkBytes, end - position + 1)
    if (!chunk || !isTaken()) chunk = Buffer.allocUnsafeSlow(wanted)
    const { bytesRead } = await readDescriptor(fd, chunk, 0, wanted, position)
    position += bytesRead
    stream.push(bytesRead > 0 ? chunk.subarray(0, bytesRead) : null)
  }
  return new Readable({
    highWaterMark: 0, // reads when it is asked to, and never ahead
    read() {
      reading = readNext(this).catch((error: Error) => this.destroy(error))
    },
    destroy(error, done) {
      // A descriptor must not be closed, and so given to somebody else, while a read of it is under way.
      void closeAfter(fd, reading, (failure) => done(error ?? failure))
    },
  })
}

async function closeAndThrow(fd: number, error: unknown): Promise<never> {
  await closeDescriptor(fd)
  throw error
}

async function closeAfter(fd: number, reading: Promise<unknown> | undefined, done: (failure: Error | null) => void): Promise<void> {
  await reading
  close(fd, done)
}

const wholeFile: Range = { start: 0, end: Number.POSITIVE_INFINITY }
const openDescriptor = promisify(open)
const closeDescriptor = promisify(close)
const readDescriptor = promisify(read)
