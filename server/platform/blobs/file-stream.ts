import { createHash } from 'node:crypto'
import { constants, fstat, read, type Stats } from 'node:fs'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { closeFile, directly, type DiskCalls, openFile } from './disk-calls.ts'
import type { Bytes } from './verified-reads.ts'

export type StreamOptions = {
  /** Both positions are inclusive. */
  range?: { start: number; end: number } | undefined
  isTaken?: (() => boolean) | undefined
  check?: (fd: number) => Promise<void>
  /** Flags for opening the file. */
  flags?: number
  calls?: DiskCalls
}

type OpenFile = { reading: Promise<unknown>; lastRead: () => Promise<unknown>; fd: number; calls: DiskCalls }

const chunkBytes = 256 * 1024

/**
 * Streams a file or a range of it. Rejects with ENOENT if the file does not exist, and with the error that `check` throws for the open file.
 * `isTaken` returns true when the previous chunk has been consumed, so that its buffer can be reused. Otherwise each chunk needs a new buffer, and
 * collecting it costs more than reading and sending.
 */
export async function streamFile(path: string, options: StreamOptions = {}): Promise<Readable> {
  const {
    range: { start, end } = { start: 0, end: Infinity },
    isTaken = () => false,
    flags = constants.O_RDONLY,
    calls = directly,
  } = options
  const fd = await openFile(calls, path, flags)
  const endExclusive = await endOf(fd, end, options).catch((error: unknown) => {
    void closeFile(calls, fd).catch(() => {})
    throw error
  })
  let position = start
  let chunk: Buffer | undefined
  let reading: Promise<unknown> = Promise.resolve()
  let lastRead: Promise<unknown> = reading
  async function readNext(stream: Readable): Promise<void> {
    const wanted = Math.min(chunkBytes, endExclusive - position)
    if (wanted <= 0) return void stream.push(null)
    if (!chunk || !isTaken()) chunk = Buffer.allocUnsafeSlow(wanted)
    const into = chunk
    const { bytesRead } = await calls(() => (lastRead = readDescriptor(fd, into, 0, wanted, position)))
    position += bytesRead
    stream.push(bytesRead > 0 ? into.subarray(0, bytesRead) : null)
  }
  return new Readable({
    highWaterMark: 0, // reads on demand, never ahead
    read() {
      reading = readNext(this).catch((error: Error) => this.destroy(error))
    },
    destroy(error, done) {
      // A failed stream ends immediately, because the disk may not respond.
      if (error) done(error)
      // Close the descriptor only after a pending read, because the operating system may reuse its number for another file.
      closeAfter({ reading, lastRead: () => lastRead, fd, calls }, error ? () => {} : done)
    },
  })
}

/** Returns the content of an open file for verification. A file that is rewritten gets a new identity. */
export const bytesOf = (calls: DiskCalls, fd: number): Bytes => ({
  async identity() {
    const { size, mtimeMs, ino } = await calls(() => statDescriptor(fd))
    return `${size} ${mtimeMs} ${ino}`
  },
  hash: () => hashOf(calls, fd),
})

async function hashOf(calls: DiskCalls, fd: number): Promise<string> {
  const hash = createHash('sha256')
  const { size } = await calls(() => statDescriptor(fd))
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size))
  for (let position = 0; ;) {
    const { bytesRead } = await calls(() => readDescriptor(fd, chunk, 0, chunk.length, position))
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(chunk.subarray(0, bytesRead))
    position += bytesRead
  }
}

/** Checks an open file and returns the end of the range in it, exclusive. */
async function endOf(fd: number, end: number, { check, calls = directly }: StreamOptions): Promise<number> {
  await check?.(fd)
  const { size } = await calls(() => statDescriptor(fd))
  return Math.min(size, end + 1)
}

function closeAfter({ reading, lastRead, fd, calls }: OpenFile, report: (failure?: Error) => void): void {
  const close = () => closeFile(calls, fd)
  // A read that was rejected may still be pending.
  const finished = reading.then(lastRead)
  finished.then(close, close).then(() => report(), report)
}

const readDescriptor = promisify(read)
const statDescriptor = promisify<number, Stats>(fstat)
