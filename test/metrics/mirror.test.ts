import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { sample } from '../support/metrics.ts'
import { publishOwn } from '../support/mirror.ts'
import { failWith } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const token = 'the token of the metrics'

it('counts reads of the mirror, requests upstream, decisions and bytes', async () => {
  const upstream = await Upstream.start()
  await using app = await testApp({ alone: true, env: { METRICS_TOKEN: token, UPSTREAM_URL: upstream.url } })
  const member = await app.member()
  upstream.publish('intl', '1.0.0')
  upstream.publish('broken', '1.0.0')
  upstream.fail('/api/packages/broken', failWith(500))
  await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
  for (const path of [
    'packages/intl',
    'packages/intl',
    'packages/broken',
    'packages/ours',
    'archives/intl-1.0.0.tar.gz',
    'archives/intl-1.0.0.tar.gz',
  ])
    await member.get(`/mirror/api/${path}`)
  app.clock.now = new Date(Date.now() + 3_600_000)
  await upstream.stop()
  expect((await member.get('/mirror/api/packages/intl')).headers).toMatchObject({ warning: expect.stringContaining('Stale') })
  const { body } = await app.anonymous.get('/metrics', { headers: { authorization: `Bearer ${token}` } })
  const text = String(body)
  const reads = (kind: string, result: string) => sample(text, 'snug_mirror_requests_total', { kind, result })
  expect(reads('listing', 'hit')).toBeGreaterThanOrEqual(1)
  expect(reads('listing', 'miss')).toBe(2)
  expect(reads('listing', 'stale')).toBe(1)
  expect(reads('listing', 'refused')).toBe(1)
  expect(reads('archive', 'hit')).toBe(1)
  expect(reads('archive', 'miss')).toBe(1)
  expect(sample(text, 'snug_mirror_upstream_requests_total', {})).toBe(upstream.count() + 1)
  expect(sample(text, 'snug_mirror_upstream_failures_total', {})).toBe(2)
  expect(sample(text, 'snug_mirror_upstream_received_bytes_total', {})).toBeGreaterThan(100)
  expect(sample(text, 'snug_mirror_upstream_duration_seconds_total', {})).toBeGreaterThan(0)
  expect(sample(text, 'snug_mirror_bytes', {})).toBeGreaterThan(100)
  expect(sample(text, 'snug_mirror_max_bytes', {})).toBe(app.config.UPSTREAM_CACHE_BYTES)
})

it('has no values for the mirror without an upstream server', async () => {
  await using app = await testApp({ env: { METRICS_TOKEN: token } })
  const { body } = await app.anonymous.get('/metrics', { headers: { authorization: `Bearer ${token}` } })
  expect(String(body)).toContain('# TYPE snug_mirror_bytes gauge')
  expect(String(body)).not.toMatch(/^snug_mirror/m)
})
