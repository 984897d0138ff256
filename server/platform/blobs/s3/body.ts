import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { failureOf } from './errors.ts'

/** Number of consecutive interruptions without progress after which a download fails. */
const maxBreaks = 3
const pauseMs = 100

/** The requested byte range (inclusive), a function that requests the body from a position, and the read timeout in milliseconds. */
type Wanted = {
  start: number
  end: number
  ask: (position: number, signal: AbortSignal) => Promise<Readable>
  silentMs: number
}

/** Returns the body of a response as a stream. */
export function bodyOf({ Body }: Pick<GetObjectCommandOutput, 'Body'>): Readable {
  if (Body instanceof Readable) return Body
  throw new Error('The storage service responded without a body')
}

/**
 * Streams bytes. If the body is interrupted or stalls, requests the rest and continues, so the client does not notice. Closing the stream aborts the
 * request.
 * @throws the error of the first `ask`.
 */
export async function streamBytes(wanted: Wanted): Promise<Readable> {
  if (wanted.end < wanted.start) return Readable.from([], { objectMode: false })
  const ended = new AbortController()
  const stream = Readable.from(resuming(await wanted.ask(wanted.start, ended.signal), wanted, ended.signal), { objectMode: false })
  stream.once('close', () => ended.abort())
  return stream
}

async function* resuming(first: Readable, { start, end, ask, silentMs }: Wanted, signal: AbortSignal): AsyncGenerator<Buffer> {
  let [position, breaks, body]: [number, number, Readable | null] = [start, 0, first]
  while (position <= end) {
    try {
      body ??= await ask(position, signal)
      for await (const chunk of withReadTimeout(body, silentMs)) {
        const wanted = chunk.subarray(0, end + 1 - position)
        position += wanted.length
        breaks = 0
        yield wanted
        // The service may send more than requested.
        if (wanted.length < chunk.length) return
      }
      if (position <= end) throw new Error(`The storage service sent ${position - start} bytes of ${end - start + 1}`)
    } catch (error) {
      if (++breaks >= maxBreaks || signal.aborted) throw failureOf(error)
      await sleep(pauseMs * breaks)
    }
    body = null
  }
}

/** Passes chunks through and destroys the body if no chunk arrives before the timeout. */
async function* withReadTimeout(body: Readable, silentMs: number): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  try {
    for (;;) {
      const timer = setTimeout(() => body.destroy(new Error(`Received no data for ${silentMs} ms`)), silentMs)
      const next = await chunks.next().finally(() => clearTimeout(timer))
      if (next.done) return
      yield next.value
    }
  } finally {
    body.destroy()
  }
}
