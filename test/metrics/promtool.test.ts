import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { runThreeJobs } from '../support/metrics.ts'
import { publishOwn } from '../support/mirror.ts'
import { promtool } from '../support/promtool.ts'
import { Upstream } from '../support/upstream.ts'

it('passes promtool check metrics with requests, uploads, jobs, the mirror and all gauges', async () => {
  const upstream = await Upstream.start()
  const token = 'the token of the metrics'
  await using app = await testApp({ alone: true, env: { METRICS_TOKEN: token, UPSTREAM_URL: upstream.url } })
  const member = await app.member()
  upstream.publish('intl', '1.0.0')
  await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
  await member.get('/mirror/api/packages/intl')
  await runThreeJobs(app)
  const text = String((await app.anonymous.get('/metrics', { headers: { authorization: `Bearer ${token}` } })).body)
  for (const name of [
    'snug_http_request_duration_seconds_count',
    'snug_uploads_total',
    'snug_job_duration_seconds_count',
    'snug_mirror_requests_total',
    'snug_sign_ins_total',
    'snug_free_bytes',
  ])
    expect(text).toMatch(new RegExp(`^${name}\\b`, 'm'))
  expect(promtool(['check', 'metrics'], text)).toEqual({ status: 0, output: '' })
})
