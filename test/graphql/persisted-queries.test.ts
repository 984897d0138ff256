import { expect, it } from 'vitest'
import { sha256 } from '../../server/platform/http/keys.ts'
import { testApp } from '../app.ts'

type Method = 'GET' | 'POST'
type Message = { message: string; extensions?: { code?: string } }

/** A client of automatic persisted queries, reduced to what Apollo Client and urql send and how they recognize that a hash is not supported. */
type Client = { name: string; accept: string; contentType: string; isUnsupported: (error: Message) => boolean }

const mixed = 'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed'
const clients: Client[] = [
  {
    name: 'Apollo Client 3',
    accept: '*/*',
    contentType: 'application/json',
    isUnsupported: ({ message, extensions }) =>
      message === 'PersistedQueryNotSupported' || extensions?.code === 'PERSISTED_QUERY_NOT_SUPPORTED',
  },
  {
    name: 'Apollo Client 4',
    accept: 'application/graphql-response+json,application/json;q=0.9',
    contentType: 'application/json',
    isUnsupported: ({ message, extensions }) =>
      message === 'PersistedQueryNotSupported' || extensions?.code === 'PERSISTED_QUERY_NOT_SUPPORTED',
  },
  {
    name: 'urql',
    accept: mixed,
    contentType: 'application/json',
    isUnsupported: ({ message }) => message === 'PersistedQueryNotSupported',
  },
]

const cases = clients.flatMap((client) => (['GET', 'POST'] as const).map((method) => [client.name, method, client] as const))

it.each(cases)('makes %s, which sends hashes by %s, send the query instead', async (_name, method, client) => {
  await using app = await testApp()
  const alice = await app.member()
  const url = await app.listen()
  const operationName = 'Me'
  for (const query of ['query Me { me { email } }', 'query Me($x: Boolean = true) { me { email @include(if: $x) } }']) {
    const variables = {}
    const extensions = { persistedQuery: { version: 1, sha256Hash: sha256(query) } }
    const send = (how: Method, body: object) => {
      const parameters = Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])
      const headers = { accept: client.accept, 'content-type': client.contentType, authorization: `Bearer ${alice.secret}` }
      return how === 'GET'
        ? fetch(`${url}/graphql?${new URLSearchParams(parameters)}`, { headers })
        : fetch(`${url}/graphql`, { method: how, headers, body: JSON.stringify(body) })
    }
    const first = await send(method, { operationName, variables, extensions })
    const { errors } = (await first.json()) as { errors: Message[] }
    expect(errors.some(client.isUnsupported)).toBe(true)
    expect(first.headers.get('cache-control')).toContain('no-store')
    const second = await send('POST', { operationName, variables, query })
    expect(await second.json()).toMatchObject({ data: { me: { email: alice.email } } })
    // A client that goes on sending the hash with the query is answered, too.
    expect(await (await send(method, { operationName, variables, extensions, query })).json()).toMatchObject({ data: { me: {} } })
  }
})
