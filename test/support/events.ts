import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'

/** Events of a subscription, as a client of GraphQL over server-sent events receives them. */
export type Events = {
  status: number
  headers: Headers
  /** Returns the next result, or null when the stream has completed. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests compare it with what they expect
  next: () => Promise<any>
  /** Disconnects, as a browser does when its page is closed. */
  close: () => void
}

/** Subscribes with a token, session cookies or no credentials. `query` is the query text, or a request body that identifies a stored query. */
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
  throw new Error('The stream ended before it was complete.')
}
