import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { failureOf } from './errors.ts'

/** How often in a row it may break off without anything having come. */
const maxBreaks = 3
const pauseMs = 100

/** Which bytes, both inclusive; how they are asked for from a position on; how long none may come. */
type Wanted = {
  start: number
  end: number
  ask: (position: number, signal: AbortSignal) => Promise<Readable>
  silentMs: number
}

/** The body of an answer, as a stream. */
export function bodyOf({ Body }: Pick<GetObjectCommandOutput, 'Body'>): Readable {
  if (Body instanceof Readable) return Body
  throw new Error('The storage service answered without a body')
}

/**
 * Streams bytes. A body that breaks off or falls silent is asked for again from where it stopped, so that the client notices nothing. Whoever ends
 * the stream ends the request.
 * @throws what `ask` throws the first time.
 */
export async function streamBytes(wanted: Wanted): Promise<Readable> {
  if (wanted.end < wanted.start) return Readable.from([], { objectMode: false })
  const ended = new AbortController()
  const stream = Readable.from(unbroken(await wanted.ask(wanted.start, ended.signal), wanted, ended.signal), { objectMode: false })
  stream.once('close', () => ended.abort())
  return stream
}

async function* unbroken(first: Readable, { start, end, ask, silentMs }: Wanted, signal: AbortSignal): AsyncGenerator<Buffer> {
  let [position, breaks, body]: [number, number, Readable | null] = [start, 0, first]
  while (position <= end) {
    try {
      body ??= await ask(position, signal)
      for await (const chunk of lively(body, silentMs)) {
        const wanted = chunk.subarray(0, end + 1 - position)
        position += wanted.length
        breaks = 0
        yield wanted
        // The service sends more than it was asked for.
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

/** Hands on what comes; ends a body that falls silent while it is waited for. */
async function* lively(body: Readable, silentMs: number): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  try {
    for (;;) {
      const timer = setTimeout(() => body.destroy(new Error(`Nothing came for ${silentMs} ms`)), silentMs)
      const next = await chunks.next().finally(() => clearTimeout(timer))
      if (next.done) return
      yield next.value
    }
  } finally {
    body.destroy()
  }
}
