import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

type Line = Record<string, unknown>

const jsonLogApp = () => testApp({ env: { LOG_FORMAT: 'json' } })
const parsed = ({ lines }: TestApp): Line[] => lines.map((line) => JSON.parse(line) as Line)
/** Returns the log line of the request with this id. */
const lineOf = (app: TestApp, requestId: unknown) => parsed(app).find((line) => line.requestId === requestId && 'status' in line)
const withRequestId = (id: string) => ({ headers: { 'x-request-id': id } })

it('logs plain text by default and sends no request id', async () => {
  await using app = await testApp()
  const answer = await app.anonymous.get('/api/v1/version?x=1', withRequestId('abc'))
  expect(answer.headers).not.toHaveProperty('x-request-id')
  expect(app.lines.at(-1)).toMatch(/^\S+Z INFO GET \/api\/v1\/version 200 \d+ms 203\.0\.113\.1 \S+-1\n$/)
})

it('logs the fields of a request as JSON', async () => {
  await using app = await jsonLogApp()
  const member = await app.member()
  await publish(member, { name: 'told', version: '1.0.0' })
  await member.get('/api/packages/told?secret=query', withRequestId('a:1.b-2_c'))
  expect(lineOf(app, 'a:1.b-2_c')).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    level: 'info',
    message: 'GET /api/packages/told 200',
    requestId: 'a:1.b-2_c',
    userId: member.id,
    tokenPrefix: member.secret?.slice(0, 12),
    address: member.ip,
    method: 'GET',
    route: '/api/packages/:pkg',
    path: '/api/packages/told',
    status: 200,
    ms: expect.any(Number),
    bytes: null,
    queries: expect.any(Number),
  })
  const browser = await member.session()
  const body = { query: 'mutation { updateProfile(input: { displayName: "Someone" }) { user { id } } }' }
  await browser.post('/graphql', body, withRequestId('posted'))
  // Reading a body continues in the async context of the connection. The line must still contain the fields of the request.
  expect(lineOf(app, 'posted')).toMatchObject({ userId: member.id, tokenPrefix: null, route: '/graphql', method: 'POST', status: 200 })
  expect(lineOf(app, 'posted')?.queries).toBeGreaterThan(2)
  await app.anonymous.get('/nothing/here', withRequestId('anonymous'))
  expect(lineOf(app, 'anonymous')).toMatchObject({ userId: null, tokenPrefix: null, status: 404 })
})

it('counts the bytes of each answer on a keep-alive connection', async () => {
  await using app = await jsonLogApp()
  const url = await app.listen()
  const { body } = await app.anonymous.get('/api/v1/version')
  for (const id of ['one', 'two']) {
    const answer = await fetch(`${url}/api/v1/version`, withRequestId(id))
    expect([answer.headers.get('x-request-id'), await answer.json()]).toEqual([id, body])
  }
  await expect.poll(() => lineOf(app, 'two')).toBeDefined()
  const [one, two] = ['one', 'two'].map((id) => Number(lineOf(app, id)?.bytes))
  expect(two).toBeGreaterThan(JSON.stringify(body).length)
  expect(two).toBe(Number(one) - 'one'.length + 'two'.length)
})

it('adopts a valid request id and returns it with every answer', async () => {
  await using app = await jsonLogApp()
  for (const id of ['8f14e45f-ceea-467f-a8d4-1f0c9d1c2b3a', 'Root=1-67891233-abcdef012345678912345678', 'x'.repeat(128)])
    expect((await app.anonymous.get('/api/v1/version', withRequestId(id))).headers['x-request-id']).toBe(id)
  expect((await app.anonymous.get('/nothing', withRequestId('missing'))).headers['x-request-id']).toBe('missing')
  expect((await app.anonymous.post('/api/v1/version', {}, withRequestId('refused'))).headers['x-request-id']).toBe('refused')
  const secret = (await app.member()).secret ?? ''
  for (const id of [
    '',
    'a b',
    'a\tb',
    '{"a":1}',
    'a"b',
    'ä',
    'a,b',
    'x'.repeat(129),
    'someone@example.com',
    secret,
    secret.toUpperCase(),
  ]) {
    const { headers } = await app.anonymous.get('/api/v1/version', withRequestId(id))
    expect(headers['x-request-id']).toMatch(/^[\w-]{8}-\w+$/)
  }
  expect(app.lines.join('')).not.toContain(secret)
})

it('keeps each log entry on one line and secrets out of it', async () => {
  await using app = await jsonLogApp()
  const secret = (await app.member()).secret ?? ''
  await app.anonymous.get(`/api/%0a%22%7d/\u2028/${secret}`, withRequestId('odd'))
  await app.anonymous.get('/invite/a-secret-of-an-invitation', withRequestId('invited'))
  await app.anonymous.get('/api/users/someone@example.com', withRequestId('mailed'))
  await app.withToken(`${secret}x`).get('/api/packages/x', withRequestId('wrong'))
  app.services.log.error('two\nlines \u0085 \u2028 "quoted" \ud800')
  for (const line of app.lines) {
    expect(line).toMatch(/^\{[^\n\r\u0085\u2028]*\}\n$/)
    JSON.parse(line)
  }
  expect(parsed(app).at(-1)).toMatchObject({ level: 'error', message: 'two\nlines \u0085 \u2028 "quoted" \ud800' })
  const text = app.lines.join('')
  expect(text).not.toContain(secret)
  expect(text).not.toContain('a-secret-of-an-invitation')
  expect(text).not.toContain('someone@example.com')
  expect(lineOf(app, 'wrong')).toMatchObject({ userId: null, tokenPrefix: null })
})

it('includes the request id in other log lines of the request', async () => {
  await using app = await jsonLogApp()
  const member = await app.member()
  await publish(member, { name: 'broken', version: '1.0.0' })
  Object.assign(app.services.database.reads, { recall: () => Promise.reject(new Error('It is out of order.')) })
  expect(await member.get('/api/packages/broken', withRequestId('failing'))).toMatchObject({ status: 500 })
  expect(parsed(app).filter((line) => line.requestId === 'failing')).toMatchObject([
    { level: 'error', message: expect.stringMatching(/^request failing failed: Error: It is out of order\.\n/) },
    { level: 'info', status: 500 },
  ])
})

it.each(['text', 'json'])('logs slow statements without their values (%s)', async (LOG_FORMAT) => {
  await using app = await testApp({ env: { LOG_FORMAT, SLOW_QUERY_MS: '0' } })
  const admin = await app.admin()
  await publish(admin, { name: 'slowly_told', version: '1.0.0' })
  await admin.get('/api/packages/slowly_told', withRequestId('slow'))
  await admin.get('/api/admin/audit-log?kind=user.login&user=someone@example.com', withRequestId('orm'))
  const slow = app.lines.filter((line) => line.includes('slow query: ')).map((line) => line.replaceAll('\\"', '"').replaceAll('`', '"'))
  expect(
    slow.some((line) =>
      /slow query: [\d.]+ms, request \S+: select "p"."id", "p"."revision" from "packages" as "p" where "p"."name" = \?/.test(line),
    ),
  ).toBe(true)
  expect(slow.some((line) => line.includes('insert into "package_versions"'))).toBe(true)
  expect(slow.some((line) => line.includes('from "audit_entries"'))).toBe(true)
  expect(slow.join('')).not.toMatch(/slowly_told|someone@|Annie|user\.login/)
  if (LOG_FORMAT === 'json')
    expect(parsed(app).find(({ requestId, sql }) => requestId === 'slow' && sql !== undefined)).toMatchObject({
      level: 'warning',
      sql: expect.stringContaining('select'),
      ms: expect.any(Number),
    })
})

it('does not log fast statements', async () => {
  await using app = await testApp({ env: { SLOW_QUERY_MS: '600000' } })
  await (await app.member()).get('/api/packages/x')
  expect(app.lines.join('')).not.toContain('slow query')
})
