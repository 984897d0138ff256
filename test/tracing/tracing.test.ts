import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { handler, PermanentFailure } from '../../server/platform/jobs/handler.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { readRows } from '../../server/platform/db/statements.ts'
import { type TestApp, testApp } from '../app.ts'
import { type Collector, type Span, startCollector } from '../support/collector.ts'
import { publish } from '../support/publish.ts'

const tracedApp = ({ url }: Pick<Collector, 'url'>, env: Record<string, string> = {}) =>
  testApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', ...env } })

/** Flushes the exporter and returns all spans. */
async function flushSpans({ services }: TestApp, collector: Collector): Promise<Span[]> {
  await services.tracing?.close()
  return collector.spans()
}

function onlySpan(spans: Span[], name: string): Span {
  const [found, ...more] = spans.filter((span) => span.name === name)
  if (!found || more.length > 0) throw new Error(`${name}: ${found ? 'several' : 'none'} of ${spans.map((span) => span.name).join(', ')}`)
  return found
}

const childrenOf = (spans: Span[], { traceId, spanId }: Span) =>
  spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId)
const [server, client, consumer] = [2, 3, 5]
const failed = 2

it('traces requests with their database and store calls', async () => {
  const collector = await startCollector()
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test')
  await using app = await tracedApp(collector, { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b' })
  vi.unstubAllEnvs()
  const member = await app.member()
  await publish(member, { name: 'traced', version: '1.0.0' })
  await member.get('/api/packages/traced')
  await app.anonymous.get('/nothing/here')
  const spans = await flushSpans(app, collector)
  expect(collector.headers[0]).toMatchObject({ path: '/v1/traces', 'content-type': 'application/json', 'x-key': 'a b' })
  expect(collector.resource()).toMatchObject({
    'service.name': 'snug',
    'service.version': expect.stringMatching(/^\d/),
    'deployment.environment.name': 'test',
  })

  const listing = onlySpan(spans, 'GET /api/packages/:pkg')
  expect(listing).toMatchObject({ kind: server, status: 0 })
  expect(listing).not.toHaveProperty('parentSpanId')
  const reads = childrenOf(spans, listing)
  expect(listing.attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/api/packages/:pkg',
    'http.response.status_code': 200,
    'url.scheme': 'http',
    'url.path': '/api/packages/traced',
    'server.address': 'localhost',
    'snug.request.id': expect.stringMatching(/^[\w-]{8}-\w+$/),
    'snug.statements': reads.length,
  })
  expect(reads.length).toBeGreaterThan(1)
  for (const read of reads) expect(read).toMatchObject({ name: 'SELECT', kind: client, status: 0 })
  expect(reads.map(({ attributes }) => attributes)).toContainEqual({
    'db.system.name': app.config.DB_BACKEND === 'sqlite' ? 'sqlite' : 'postgresql',
    'db.query.text': 'select "p"."id", "p"."revision" from "packages" as "p" where "p"."name" = ?',
  })

  expect(childrenOf(spans, onlySpan(spans, 'POST /api/packages/versions/upload')).map(({ name }) => name)).toContain('blobs stageWhole')
  const publishing = childrenOf(spans, onlySpan(spans, 'GET /api/packages/versions/newUploadFinish'))
  expect(publishing.map(({ name }) => name)).toEqual(expect.arrayContaining(['SELECT', 'blobs promote', 'INSERT', 'UPDATE']))
  expect(onlySpan(publishing, 'blobs promote').attributes).toEqual({ 'snug.blobs.backend': 'filesystem' })
  const missing = onlySpan(spans, 'GET /*')
  expect(missing).toMatchObject({ status: 0, attributes: { 'http.response.status_code': 404 } })
})

it('traces every way of reading an archive from the store', async () => {
  const collector = await startCollector()
  await using app = await tracedApp(collector, { ACCEL_REDIRECT_PREFIX: '/-/archives/' })
  const member = await app.member()
  const files = { 'lib/noise.bin': randomBytes(700_000) }
  await publish(member, { name: 'large', version: '1.0.0', files })
  await publish(member, { name: 'small', version: '1.0.0' })
  await member.get('/api/archives/large-1.0.0.tar.gz', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  await member.get('/api/archives/large-1.0.0.tar.gz', { headers: { range: 'bytes=0-1,5-6' } })
  await member.get('/api/archives/small-1.0.0.tar.gz')
  const spans = await flushSpans(app, collector)
  const downloads = spans.filter(({ name }) => name.startsWith('GET /api/archives/'))
  const inStore = (download: Span) => childrenOf(spans, download).flatMap(({ name }) => (name.startsWith('blobs ') ? [name] : []))
  expect(downloads.map(inStore)).toEqual([['blobs place'], ['blobs open'], ['blobs read']])
})

it('continues incoming traces and respects their sampling decision', async () => {
  const collector = await startCollector()
  await using app = await tracedApp(collector)
  const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const asked = (traceparent: string) => app.anonymous.get('/api/v1/version', { headers: { traceparent } })
  for (const malformed of ['', trace, `00-${'0'.repeat(32)}-${span}-01`, `00-${trace}-${span}`, `00-${trace}-${span}-01, x`])
    await asked(malformed)
  await asked(`00-${trace}-${span}-00`)
  const untraced = await flushSpans(app, collector)
  expect(untraced).toHaveLength(5)
  for (const { traceId, parentSpanId } of untraced) expect([traceId === trace, parentSpanId]).toEqual([false, undefined])

  const second = await startCollector()
  await using other = await tracedApp(second)
  await other.anonymous.get('/api/v1/version', { headers: { traceparent: `00-${trace}-${span}-01` } })
  expect(await flushSpans(other, second)).toMatchObject([{ traceId: trace, parentSpanId: span }])
})

it('records type and name of GraphQL operations but no values', async () => {
  const collector = await startCollector()
  await using app = await tracedApp(collector, { LOG_FORMAT: 'json', SLOW_QUERY_MS: '60000' })
  const member = await app.member()
  const secret = member.secret ?? ''
  await member.graphql('query Mine { viewer { id } }')
  await member.graphql(`query ${secret} { viewer { id } }`)
  await member.graphql('mutation ($name: String!) { updateProfile(input: { displayName: $name }) { user { id } } }', {
    name: 'Sesame Street',
  })
  const headers = {
    traceparent: secret,
    tracestate: `a=${secret}`,
    baggage: `a=${secret}`,
    'x-request-id': secret,
    'user-agent': secret,
    cookie: secret,
  }
  await app.anonymous.get(`/api/packages/x?token=${secret}&q=sesame-query`, { headers })
  await app.anonymous.get(`/api/${secret}/${member.email}`, { headers })
  await app.anonymous.post('/api/auth/login', { email: member.email, password: 'sesame password' })
  const spans = await flushSpans(app, collector)
  const queries = spans.filter(({ name }) => name === 'query')
  expect(queries.map(({ attributes }) => attributes)).toEqual([
    { 'graphql.operation.type': 'query', 'graphql.operation.name': 'Mine' },
    { 'graphql.operation.type': 'query', 'graphql.operation.name': '***' },
  ])
  const mutation = onlySpan(spans, 'mutation')
  expect(mutation.attributes).toEqual({ 'graphql.operation.type': 'mutation' })
  expect(spans.find(({ spanId }) => spanId === mutation.parentSpanId)?.name).toBe('POST /graphql')
  expect(childrenOf(spans, mutation).map(({ name }) => name)).toContain('UPDATE')
  const everything = collector.bodies.join('')
  expect(everything).toContain('/api/svc_pat_***/***')
  for (const text of [secret, secret.slice(8), 'esame', member.email, app.config.JWT_SECRET, member.ip])
    expect(everything).not.toContain(text)
})

it('traces each attempt of a job separately, with a link to the request that enqueued it', async () => {
  const collector = await startCollector()
  await using app = await tracedApp(collector)
  const member = await app.member()
  await publish(member, { name: 'linked', version: '1.0.0' })
  const { services } = app
  const analysis = handler(z.unknown(), async () => {
    // More spans than the limit per job.
    for (let n = 0; n < 200; n++) await readRows(services.database.fork(), 'select 1 as one', [])
    await services.database.fork().transactional((em) => enqueue(em, { kind: 'task', subject: 'next' }, services.now()))
  })
  const task = handler(z.unknown(), async () => {
    throw new PermanentFailure('Sesame did not open.')
  })
  const worker = startWorker(services, { analysis, task })
  await worker.settled()
  await worker.stop()
  const spans = await flushSpans(app, collector)
  const idOf = ({ traceId, spanId }: Span) => ({ traceId, spanId })
  const first = onlySpan(spans, 'job analysis')
  expect(first).toMatchObject({ kind: consumer, status: 0, links: [idOf(onlySpan(spans, 'GET /api/packages/versions/newUploadFinish'))] })
  expect(first).not.toHaveProperty('parentSpanId')
  expect(first.attributes).toEqual({
    'snug.job.id': expect.any(String),
    'snug.job.kind': 'analysis',
    'snug.job.attempt': 1,
    'snug.job.outcome': 'done',
    'snug.statements': expect.any(Number),
  })
  expect(first.attributes['snug.statements']).toBeGreaterThan(200)
  expect(childrenOf(spans, first)).toHaveLength(128)
  const second = onlySpan(spans, 'job task')
  expect(second).toMatchObject({
    status: failed,
    links: [idOf(first)],
    attributes: { 'snug.job.outcome': 'failed', 'error.type': 'failed' },
  })
  expect(second.traceId).not.toBe(first.traceId)
  expect(collector.bodies.join('')).not.toContain('Sesame')
})

it('samples as configured and exports protobuf by default', async () => {
  const collector = await startCollector()
  for (const [sampler, arg] of [
    ['always_off', '1'],
    ['traceidratio', '0'],
    ['parentbased_traceidratio', '0'],
  ] as const) {
    await using app = await tracedApp(collector, { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg })
    expect((await app.anonymous.get('/api/v1/version')).status).toBe(200)
    await app.services.tracing?.close()
    expect(collector.bodies).toEqual([])
  }
  await using app = await testApp({ env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/here` } })
  await app.anonymous.get('/api/v1/version')
  await app.services.tracing?.close()
  expect(collector.headers).toMatchObject([{ path: '/here', 'content-type': 'application/x-protobuf' }])
  expect(collector.bodies[0]).toContain('GET /api/v1/version')
})

it('neither fails nor waits for an unreachable collector and logs that once', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '100')
  onTestFinished(() => void vi.unstubAllEnvs())
  await using app = await tracedApp({ url: 'http://127.0.0.1:9' })
  // More spans than one batch.
  for (let n = 0; n < 1200; n++) expect((await app.anonymous.get('/api/v1/version')).status).toBe(200)
  await app.services.tracing?.close()
  expect(app.lines.filter((line) => line.includes('traces:'))).toEqual([
    expect.stringMatching(/ WARNING traces: cannot be sent to http:\/\/127\.0\.0\.1:9 \(\d+ spans so far\): .*ECONNREFUSED/),
  ])

  const silent = await startCollector(0)
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '60000')
  await using other = await tracedApp(silent)
  expect((await other.anonymous.get('/api/v1/version')).status).toBe(200)
  // Otherwise it would wait for the minute above.
  await other.services.tracing?.close(50)
  expect(other.lines.join('')).toMatch(/WARNING traces: cannot be sent .* The server stopped before they were sent/)
})

it.each([{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }] as Record<string, string>[])(
  'is disabled with %o',
  async (env) => {
    await using app = await tracedApp({ url: 'http://127.0.0.1:9' }, env)
    expect(app.services.tracing).toBeNull()
  },
)
