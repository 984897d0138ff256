import type { Server } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { listenForMetrics } from '../../server/operations/metrics/page.ts'
import { type TestApp, testApp, type TestOptions } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { metricsIn, runThreeJobs, sample } from '../support/metrics.ts'
import { publish, publishArchive } from '../support/publish.ts'

const token = 'the token of the metrics'
const withToken = { headers: { authorization: `Bearer ${token}` } }
const appWithMetrics = (options: TestOptions = {}) => testApp({ ...options, env: { METRICS_TOKEN: token } })

async function metricsOf({ anonymous }: TestApp): Promise<string> {
  const { status, body } = await anonymous.get('/metrics', withToken)
  expect(status).toBe(200)
  return String(body)
}

it('exposes no metrics by default', async () => {
  await using app = await testApp()
  const elsewhere = await app.anonymous.get('/nothing-here')
  const answer = await app.anonymous.get('/metrics', withToken)
  expect(answer).toMatchObject({ status: 404, body: elsewhere.body })
  expect(answer.body.error.code).toBe('NotFound')
  expect(app.services.metrics).toBeNull()
})

it('requires the metrics token', async () => {
  await using app = await appWithMetrics()
  const owner = await app.owner()
  for (const authorization of ['', 'Bearer', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${btoa(`x:${token}`)}`])
    expect(await app.anonymous.get('/metrics', { headers: { authorization } })).toMatchObject({
      status: 401,
      body: { error: { code: 'MissingAuthentication' } },
    })
  expect((await app.anonymous.get('/metrics')).status).toBe(401)
  expect((await owner.get('/metrics')).status).toBe(401)
  const answer = await app.anonymous.get('/metrics', withToken)
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } })
  expect(answer.headers['cache-control']).toContain('no-store')
  expect((await app.anonymous.post('/metrics', {}, withToken)).status).toBe(405)
})

it('counts requests by route, never by values that clients choose', async () => {
  await using app = await appWithMetrics({ alone: true })
  const member = await app.member()
  await publish(member, { name: 'counted', version: '1.0.0' })
  for (let n = 0; n < 20; n++) {
    await member.get(`/api/packages/counted_${n}`)
    await app.anonymous.get(`/${n}/nothing-here?n=${n}`)
    await app.anonymous.send('OPTIONS', `/api/packages/x${n}`)
  }
  await member.get('/api/packages/counted')
  await member.graphql('{ viewer { id } }')
  const text = await metricsOf(app)
  const requests = (labels: Record<string, string>) => sample(text, 'snug_http_request_duration_seconds_count', labels)
  const listing = { method: 'GET', route: '/api/packages/:pkg' }
  expect(requests({ ...listing, status: '2xx' })).toBe(1)
  expect(requests({ ...listing, status: '4xx' })).toBe(20)
  expect(sample(text, 'snug_http_request_duration_seconds_bucket', { ...listing, status: '4xx', le: '+Inf' })).toBe(20)
  expect(sample(text, 'snug_http_request_duration_seconds_sum', { ...listing, status: '4xx' })).toBeGreaterThan(0)
  expect(requests({ method: 'POST', route: '/graphql', status: '2xx' })).toBe(1)
  expect(requests({ method: 'GET', route: '/*', status: '4xx' })).toBe(20)
  expect(text).not.toMatch(/nothing-here|counted_/)
})

it('counts uploads, downloads, jobs, caches and connections', async () => {
  await using app = await appWithMetrics({ alone: true })
  const member = await app.member()
  const archive = await publish(member, { name: 'watched', version: '1.0.0' })
  await publishArchive(member, await packageArchive({ name: 'Not A Name', version: '1.0.0' }))
  for (let n = 0; n < 2; n++) {
    await member.get('/api/archives/watched-1.0.0.tar.gz')
    await member.get('/api/packages/watched')
  }
  await member.get('/api/archives/watched-1.0.0.tar.gz', { headers: { 'user-agent': 'Googlebot/2.1' } })
  await runThreeJobs(app)
  const url = await app.listen()
  const sent = await fetch(`${url}/api/archives/watched-1.0.0.tar.gz`, { headers: { authorization: `Bearer ${member.secret}` } })
  expect((await sent.arrayBuffer()).byteLength).toBe(archive.length)
  const text = await metricsOf(app)
  expect(sample(text, 'snug_uploads_total', { outcome: 'published' })).toBe(1)
  expect(sample(text, 'snug_uploads_total', { outcome: 'refused' })).toBe(1)
  expect(sample(text, 'snug_downloads_total')).toBe(3)
  expect(sample(text, 'snug_job_duration_seconds_count', { kind: 'task', outcome: 'done' })).toBe(1)
  expect(sample(text, 'snug_job_duration_seconds_count', { kind: 'task', outcome: 'failed' })).toBe(1)
  expect(sample(text, 'snug_job_duration_seconds_count', { kind: 'task', outcome: 'retried' })).toBe(1)
  expect(sample(text, 'snug_jobs', { kind: 'task', state: 'failed' })).toBe(1)
  expect(sample(text, 'snug_jobs', { kind: 'task', state: 'queued' })).toBe(1)
  expect(sample(text, 'snug_jobs', { kind: 'analysis', state: 'queued' })).toBe(1)
  expect(sample(text, 'snug_jobs', { kind: 'analysis', state: 'running' })).toBe(0)
  expect(sample(text, 'snug_jobs_oldest_due_seconds')).toBeGreaterThanOrEqual(0)
  for (const cache of ['listings', 'archives', ...(app.config.DB_BACKEND === 'sqlite' ? ['rows'] : [])])
    for (const result of ['hit', 'miss']) expect(sample(text, 'snug_cache_requests_total', { cache, result })).toBeGreaterThan(0)
  expect(sample(text, 'snug_http_connections')).toBe(1)
  expect(sample(text, 'snug_http_received_bytes_total')).toBeGreaterThan(100)
  expect(sample(text, 'snug_http_sent_bytes_total')).toBeGreaterThan(archive.length)
})

it('counts cache lookups of its own server only', async () => {
  await using app = await appWithMetrics()
  await using other = await appWithMetrics()
  const member = await app.member()
  await publish(member, { name: 'watched', version: '1.0.0' })
  for (let round = 0; round < 2; round++) await member.get('/api/packages/watched')
  const lookups = (text: string) => text.split('\n').filter((line) => line.startsWith('snug_cache_requests_total{cache="listings"'))
  expect(lookups(await metricsOf(app))).toHaveLength(2)
  expect(lookups(await metricsOf(other))).toEqual([])
})

it('reads the state of pools, queues and stores', async () => {
  await using app = await appWithMetrics()
  const text = await metricsOf(app)
  const pools = app.config.DB_BACKEND === 'sqlite' ? ['transactions'] : ['transactions', 'reads']
  for (const pool of pools) {
    const [busy, idle] = ['busy', 'idle'].map((state) => sample(text, 'snug_database_connections', { pool, state }))
    expect(Number(busy) + Number(idle)).toBeGreaterThan(0)
    expect(sample(text, 'snug_database_connections_max', { pool })).toBeGreaterThan(0)
    expect(sample(text, 'snug_database_waiting', { pool })).toBe(0)
  }
  for (const state of ['busy', 'idle']) expect(sample(text, 'snug_scoring_processes', { state })).toBe(0)
  expect(sample(text, 'snug_build_info')).toBe(1)
  expect(sample(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e7)
  expect(sample(text, 'process_cpu_seconds_total')).toBeGreaterThan(0)
  expect(sample(text, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  for (const collector of ['backups', 'caches', 'connections', 'database', 'health', 'jobs', 'scoring', 'sign_ins', 'space'])
    expect(sample(text, 'snug_collector_success', { collector })).toBe(1)
  const own = [...metricsIn(text).keys()].filter((name) => name.startsWith('snug_'))
  // When you add a metric, add it here and to a test above.
  expect(own.toSorted()).toEqual([
    'snug_backup_last_failure_timestamp_seconds',
    'snug_backup_last_success_timestamp_seconds',
    'snug_backup_next_timestamp_seconds',
    'snug_backup_size_bytes',
    'snug_build_info',
    'snug_cache_requests_total',
    'snug_collector_success',
    'snug_component_up',
    'snug_database_connections',
    'snug_database_connections_max',
    'snug_database_waiting',
    'snug_downloads_total',
    'snug_free_bytes',
    'snug_http_connections',
    'snug_http_received_bytes_total',
    'snug_http_request_duration_seconds',
    'snug_http_sent_bytes_total',
    'snug_job_duration_seconds',
    'snug_job_token_refusals_total',
    'snug_jobs',
    'snug_jobs_oldest_due_seconds',
    'snug_min_free_bytes',
    'snug_mirror_bytes',
    'snug_mirror_decisions_total',
    'snug_mirror_max_bytes',
    'snug_mirror_requests_total',
    'snug_mirror_upstream_duration_seconds_total',
    'snug_mirror_upstream_failures_total',
    'snug_mirror_upstream_received_bytes_total',
    'snug_mirror_upstream_requests_total',
    'snug_scoring_processes',
    'snug_sign_in_failures_total',
    'snug_sign_ins_total',
    'snug_uploads_total',
  ])
})

it('omits metrics that cannot be read and limits how often they are read', async () => {
  await using app = await appWithMetrics()
  const { services } = app
  let reads = 0
  const read = () => {
    if (++reads > 0) throw new Error('The disk is away.')
    return {}
  }
  services.metrics?.add({ name: 'broken', gauges: { snug_broken: { help: 'Never read.' } }, read })
  const [text] = await Promise.all([metricsOf(app), metricsOf(app)])
  await metricsOf(app)
  expect(sample(text, 'snug_broken')).toBeUndefined()
  expect(sample(text, 'snug_collector_success', { collector: 'broken' })).toBe(0)
  expect(reads).toBe(1)
  expect(app.lines.filter((line) => line.includes('metrics: broken cannot be read: Error: The disk is away.'))).toHaveLength(1)
})

it('serves metrics on a separate port', async () => {
  await using app = await testApp({ env: { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' } })
  expect((await app.anonymous.get('/metrics')).status).toBe(404)
  const server = await listenForMetrics(app.services)
  onTestFinished(() => void server?.close())
  const url = `http://127.0.0.1:${portOf(server)}`
  expect(app.lines.join('')).toContain(`Metrics are at ${url}/metrics`)
  const answer = await fetch(`${url}/metrics`)
  expect(sample(await answer.text(), 'snug_build_info')).toBe(1)
  expect(await (await fetch(`${url}/metrics`, { method: 'HEAD' })).text()).toBe('')
  const refused = await fetch(`${url}/metrics`, { method: 'POST' })
  expect([refused.status, refused.headers.get('allow'), refused.headers.get('cache-control')]).toEqual([
    405,
    'GET, HEAD',
    'private, no-store',
  ])
  const missing = await fetch(`${url}/api/packages/x`)
  expect([missing.status, await missing.json()]).toEqual([404, { error: { code: 'NotFound', message: 'Not found.' } }])
})

it('requires the token on the separate port when one is set', async () => {
  await using app = await testApp({ env: { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1', METRICS_TOKEN: token } })
  const server = await listenForMetrics(app.services)
  onTestFinished(() => void server?.close())
  const url = `http://127.0.0.1:${portOf(server)}/metrics`
  expect((await fetch(url)).status).toBe(401)
  expect((await fetch(url, withToken)).status).toBe(200)
})

function portOf(server: Server | null): number {
  const address = server?.address()
  return typeof address === 'object' && address ? address.port : 0
}

it.each([
  ['127.0.0.1', /^METRICS_PORT: another program uses port \d+ already\. Stop it, or choose another port\.$/],
  ['203.0.113.9', /^METRICS_HOST: this machine has no address 203\.0\.113\.9\. Use 0\.0\.0\.0 /],
  ['no..host', /^METRICS_HOST: this machine has no address no\.\.host\. /],
])('names the setting when it cannot listen on %s', async (METRICS_HOST, message) => {
  await using taken = await testApp({ env: { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' } })
  const first = await listenForMetrics(taken.services)
  onTestFinished(() => void first?.close())
  await using app = await testApp({ env: { METRICS_PORT: String(portOf(first)), METRICS_HOST } })
  await expect(listenForMetrics(app.services)).rejects.toThrow(message)
})
