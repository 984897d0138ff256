import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { mountRoutes } from '../../server/platform/rest/router.ts'
import { route } from '../../server/platform/rest/route.ts'
import { routesOf } from '../../server/routes.ts'
import { printedSchema, schema } from '../../server/schema.ts'
import { testApp } from '../app.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

it('answers unknown paths, wrong methods and malformed URLs with the error envelope', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const path of ['/api/nothing', '/api', '/oauth/nothing', '/graphql/x', '/api/%zz', `/api/auth/keys/${'x'.repeat(600)}`]) {
    expect({ path, ...(await alice.get(path)) }).toMatchObject({
      status: 404,
      body: { error: { code: 'NotFound', message: expect.any(String) } },
    })
  }
  expect(await alice.put('/api/auth/keys', {})).toMatchObject({
    status: 405,
    headers: { allow: 'POST, GET, HEAD' },
    body: { error: { code: 'InvalidInput' } },
  })
  expect(await alice.head('/api/auth/keys')).toMatchObject({ status: 200 })
})

it('answers 405 for wrong methods outside the route table, too', async () => {
  await using app = await testApp()
  for (const path of ['/api/docs', '/api/docs/openapi.json', '/api/docs/schema.graphql']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)
      expect({ path, ...(await app.anonymous.send(method, path)) }).toMatchObject({
        path,
        status: 405,
        headers: { allow: 'GET, HEAD' },
        body: { error: { code: 'InvalidInput' } },
      })
    expect({ path, ...(await app.anonymous.head(path)) }).toMatchObject({ path, status: 200 })
  }
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)
    expect(await app.anonymous.send(method, '/graphql', 'x', { headers: { 'content-type': 'text/plain' } })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, POST' },
      body: { errors: [{ extensions: { code: 'InvalidInput' } }] },
    })
  const query = `/graphql?query=${encodeURIComponent('{ server { version } }')}`
  expect(await app.anonymous.get(query)).toMatchObject({ status: 200 })
  expect(await app.anonymous.head(query)).toMatchObject({ status: 200, body: '' })
})

it('serves the console at SERVER_URL itself, also below a path', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://example.com/registry' } })
  for (const path of ['/registry', '/registry/', '/registry?q=x', '/registry/?q=x', '/registry/login'])
    expect({ path, ...(await app.anonymous.get(path)) }).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': expect.any(String) },
      body: expect.stringContaining('<html'),
    })
  expect(await app.anonymous.head('/registry')).toMatchObject({ status: 200 })
  for (const path of ['/', '/registryx', '/registry/api']) expect(await app.anonymous.get(path)).toMatchObject({ status: 404 })
})

it('accepts an empty body with a content type as no body', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const json = { headers: { 'content-type': 'application/json' } }
  const { body: key } = await alice.post('/api/auth/keys', { name: 'ci' })
  expect(await alice.delete(`/api/auth/keys/${key.id}`, json)).toMatchObject({ status: 200, body: { status: 'ok' } })
  const [one, other] = [await alice.session(), await alice.session()]
  expect(await one.post('/api/auth/logout', undefined, json)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await other.post('/api/auth/logout', '', json)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await alice.post('/api/auth/keys', '', json)).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message: 'name: is required.' } },
  })
  expect(await alice.post('/api/auth/keys', ' ', json)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})

it('answers malformed HTTP with the error envelope', async () => {
  await using app = await testApp()
  const { port, hostname } = new URL(await app.listen())
  const answer = await new Promise<string>((resolve) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write('NONSENSE / HTTP/9.9\r\n\r\n'))
    socket.on('data', (chunk) => (text += chunk)).on('close', () => resolve(text))
  })
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'InvalidInput' } })
})

it('hides internal errors and logs them', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await app.services.database.orm.em.getConnection().execute('alter table access_tokens rename to lost')
  const { status, body } = await alice.get('/api/auth/keys')
  expect({ status, body }).toMatchObject({
    status: 500,
    body: { error: { code: 'InternalError', message: expect.stringMatching(/^Something went wrong on the server \(request [\w-]+\)\.$/) } },
  })
  const answer = await alice.graphql('{ viewer { tokens(first: 1) { nodes { name } } } }')
  expect(answer).toMatchObject({
    status: 500,
    body: { errors: [{ message: expect.stringContaining('request'), extensions: { code: 'InternalError' } }] },
  })
  expect(JSON.stringify([body, answer.body])).not.toMatch(/access_tokens|select/)
  expect(app.lines.filter((line) => line.includes('ERROR') && line.includes('access_tokens')).length).toBeGreaterThan(1)
})

it('sends no CORS headers and forbids framing and sniffing', async () => {
  await using app = await testApp()
  for (const path of ['/graphql?query={server{version}}', '/api/v1/health', '/']) {
    const { headers } = await app.anonymous.get(path, { headers: { origin: 'https://evil.example' } })
    expect(headers['access-control-allow-origin']).toBeUndefined()
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
  }
})

it('fails to start when a route does not match the schema', async () => {
  await using app = await testApp()
  const mounting = (operation: string) => () =>
    mountRoutes(app.http, app.services, schema, [route('GET /api/right', '{ server { version } }'), route('GET /api/wrong', operation)])
  expect(mounting('{ nonsense }')).toThrow(/^GET \/api\/wrong does not fit the schema: .*nonsense/)
  for (const many of ['{ me { id } } query { me { id } }', 'fragment all on User { id }'])
    expect(mounting(many)).toThrow('GET /api/wrong must contain exactly one operation')
})

it('serves the GraphQL explorer and the REST reference from its own files only', async () => {
  await using app = await testApp()
  const html = { headers: { accept: 'text/html,*/*;q=0.8' } }
  const explorer = await app.anonymous.get('/graphql', html)
  expect(explorer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'private, no-store' },
  })
  expect(explorer.headers['content-security-policy']).toMatch(/script-src 'self' 'sha256-[^' ]+';/)
  expect(explorer.raw.length).toBeLessThan(10_000)
  expect(await app.anonymous.head('/graphql', html)).toMatchObject({ status: 200, body: '' })
  // A request with a query is answered as GraphQL, whatever the Accept header.
  expect(await app.anonymous.get('/graphql?query={server{version}}', html)).toMatchObject({ status: 200, body: { data: {} } })
  const page = await app.anonymous.get('/api/docs')
  for (const { body } of [explorer, page])
    for (const [, path = ''] of body.matchAll(/(?:src|href)="([^"]+)"/g)) {
      const { origin, pathname } = new URL(path, 'http://here')
      expect(origin).toBe('http://here')
      if (pathname !== '/') expect(await app.anonymous.get(pathname)).toMatchObject({ status: 200 })
    }
  expect((await app.anonymous.get('/api/docs/schema.graphql')).body).toBe(printedSchema())
})

it('serves the OpenAPI document with its own address', async () => {
  await using app = await testApp()
  const { body } = await app.anonymous.get('/api/docs/openapi.json')
  expect(body).toMatchObject({ openapi: '3.1.0', servers: [{ url: app.config.SERVER_URL }] })
  expect(Object.values(body.paths as object[]).flatMap(Object.keys)).toHaveLength(routes.length)
})

it('logs a line per request, without query, cookies or tokens', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const line = /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO GET \/api\/auth\/me 200 \d+ms (\S+) (\S+)\n$/
  const lines = () => app.lines.flatMap((text) => (line.exec(text) ? [line.exec(text)?.slice(1)] : []))
  await alice.get('/api/auth/me?token=geheim', { ip: '203.0.113.77' })
  await alice.get('/api/auth/me', { ip: '127.0.0.1', headers: { 'x-forwarded-for': '198.51.100.4' } })
  await expect.poll(lines).toHaveLength(2)
  expect(lines().map((found) => found?.[0])).toEqual(['203.0.113.77', '198.51.100.4'])
  expect(new Set(lines().map((found) => found?.[1])).size).toBe(2)
  expect(app.lines.join('')).not.toContain('geheim')
  expect(app.lines.join('')).not.toContain(alice.secret)
})
