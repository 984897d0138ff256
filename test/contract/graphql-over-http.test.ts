import { readFileSync } from 'node:fs'
import { Client, fetchExchange } from '@urql/vue'
import { serverAudits } from 'graphql-http'
import { expect, it } from 'vitest'
import { printedSchema } from '../../server/schema.ts'
import { testApp } from '../app.ts'

it('conforms to the GraphQL over HTTP specification', async () => {
  await using app = await testApp()
  const url = `${await app.listen()}/graphql`
  const token = (await app.member()).secret
  const audits = serverAudits({
    url,
    fetchFn: (input: string, init: RequestInit = {}) =>
      fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${token}` } }),
  })
  const results = await Promise.all(audits.map((audit) => audit.fn()))
  expect(results.length).toBeGreaterThan(50)
  expect(results.flatMap((result) => (result.status === 'error' ? `${result.name}: ${result.reason}` : []))).toEqual([])
})

it('prints the checked-in schema', () => {
  expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(printedSchema())
})

it('describes every type, field, argument and value', () => {
  const lines = printedSchema().split('\n')
  const bare = lines.filter(
    (line, index) =>
      /^(type|input|enum|scalar|interface) |^ {2}\w+[(:]|^ {4}\w+:|^ {2}[A-Z_]+$/.test(line) && !lines[index - 1]?.endsWith('"""'),
  )
  expect(bare).toEqual([])
})

it('refuses queries that are too deep, too expensive, too long or batched', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const deep = `{ viewer { tokens(first: 1) { ${'edges { node { id } } nodes { id } '.repeat(1)} } } ${Array.from({ length: 40 }, (_, n) => `a${n}: server { version }`).join(' ')} }`
  expect((await alice.graphql(deep)).body.errors[0].extensions.code).toBe('InvalidInput')
  expect(await alice.graphql(`{ server { version } } # ${'x'.repeat(70_000)}`)).toMatchObject({ status: 413 })
  expect((await alice.post('/graphql', [{ query: '{ server { version } }' }, { query: '{ server { version } }' }])).status).toBe(400)
  expect((await app.anonymous.graphql('{ __schema { types { name } } }')).body.errors[0].extensions.code).toBe('InvalidInput')
  expect((await alice.graphql('{ all: __schema { types { name } } }')).body.data.all.types.length).toBeGreaterThan(10)
})

it('accepts queries at the path with a trailing slash', async () => {
  for (const path of ['', '/registry']) {
    await using app = await testApp({ env: { SERVER_URL: `http://localhost:8080${path}` } })
    const alice = await app.member()
    const query = '{ server { version } }'
    const answered = { status: 200, body: { data: { server: { version: expect.any(String) } } } }
    expect(await alice.post(`${path}/graphql/`, { query })).toMatchObject(answered)
    expect(await alice.get(`${path}/graphql/?query=${encodeURIComponent(query)}`)).toMatchObject(answered)
    expect(await alice.put(`${path}/graphql/`, { query })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, POST' } })
  }
})

it('answers errors before execution in the format of GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const text = JSON.stringify({ query: '{ server { version } }', variables: { filler: 'x'.repeat(1_100_000) } })
  expect(await alice.post('/graphql', text, { headers: { 'content-type': 'application/json' } })).toMatchObject({
    status: 413,
    body: { errors: [{ message: expect.stringContaining('larger than'), extensions: { code: 'InvalidInput' } }] },
  })
  expect(await alice.post('/graphql', '{}', { headers: { 'content-type': 'text/plain' } })).toMatchObject({
    status: 415,
    body: { errors: [{ extensions: { code: 'InvalidInput' } }] },
  })
  expect(await alice.post('/graphql', { query: '{ server { version } }' }, { headers: { 'content-encoding': 'gzip' } })).toMatchObject({
    status: 415,
    body: { errors: [{ message: expect.stringContaining('Content-Encoding gzip'), extensions: { code: 'InvalidInput' } }] },
  })
  const anonymousIp = app.anonymous.ip
  await Promise.all([anonymousIp, '127.0.0.1'].flatMap((ip) => Array.from({ length: 600 }, () => app.services.limits.use('graphql', ip))))
  const refused = await app.anonymous.graphql('{ server { version } }')
  expect(refused).toMatchObject({
    status: 429,
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/), 'content-type': 'application/json; charset=utf-8' },
    body: { errors: [{ message: expect.stringContaining('Try again'), extensions: { code: 'RateLimitExceeded' } }] },
  })
  expect(refused.body.errors[0].extensions.retryAfter).toBe(Number(refused.headers['retry-after']))
  // The same request as the console sends.
  const client = new Client({ url: `${await app.listen()}/graphql`, preferGetMethod: false, exchanges: [fetchExchange] })
  const { error } = await client.query('{ server { version } }', {}).toPromise()
  expect(error?.graphQLErrors).toMatchObject([{ extensions: { code: 'RateLimitExceeded' } }])
  // A second may pass between the two requests.
  const withoutNumber = (message = '') => message.replace(/\d+/, 'N')
  expect(withoutNumber(error?.graphQLErrors[0]?.message)).toBe(withoutNumber(refused.body.errors[0].message))
})

it('refuses mutations by GET', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  expect((await browser.get(`/graphql?query=${encodeURIComponent('mutation { logout }')}`)).status).toBe(405)
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200 })
})
