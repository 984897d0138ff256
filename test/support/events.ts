import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'

/** What a subscription sends, as a client of GraphQL over server-sent events reads it. */
export type Events = {
  status: number
  headers: Headers
  /** The next result; null when the stream has ended in good order. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests compare it with what they expect
  next: () => Promise<any>
  /** Goes away, as a browser that closes a page does. */
  close: () => void
}

/** Subscribes at an address as whoever holds the secret, or the cookies of a session; with a text, or with what names one. */
export async function subscribeAt(
  address: string,
  credential: string | Record<string, string> | undefined,
  query: string | object,
  variables: object = {},
  controller = new AbortController(),
): Promise<Events> {
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...credentialHeaders(credential),
    },
    body: JSON.stringify({ ...(typeof query === 'string' ? { query } : query), variables }),
    signal: controller.signal,
  })
  const results = read(response)
  return {
    status: response.status,
    headers: response.headers,
    next: async () => (await results.next()).value ?? null,
    close: () => controller.abort(),
  }
}

function credentialHeaders(credential: string | Record<string, string> | undefined): Record<string, string> {
  if (credential === undefined) return {}
  if (typeof credential === 'string') return { authorization: `Bearer ${credential}` }
  const cookies = Object.entries(credential).map(([name, value]) => `${name}=${value}`)
  return { cookie: cookies.join('; ') }
}

async function* read({ body }: { body: unknown }): AsyncGenerator<unknown, null> {
  if (!(body instanceof ReadableStream)) throw new Error('The answer has no body.')
  let event = ''
  for await (const line of createInterface({ input: Readable.fromWeb(body) })) {
    if (line.startsWith('event:')) event = line.slice(6).trim()
    else if (line.startsWith('data:') && event === 'next') yield JSON.parse(line.slice(5))
    if (event === 'complete') return null
  }
  throw new Error('The stream was cut off.')
}
