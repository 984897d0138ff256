import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { testApp } from '../app.ts'
import { metricsIn } from '../support/metrics.ts'

const file = new URL('../../server/platform/deploy/grafana-dashboard.json', import.meta.url)
const target = z.object({ expr: z.string().min(1) })
const dashboard = z.object({
  panels: z.array(z.object({ id: z.int(), title: z.string().min(1), targets: z.array(target).optional() })),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.union([z.string(), z.object({ query: z.string() })]) })) }),
})

const alerts = new URL('../../server/platform/deploy/prometheus-alerts.yaml', import.meta.url)

it('has alert rules on existing metrics only', async () => {
  await using app = await testApp({ env: { METRICS_TOKEN: 'the token of the metrics' } })
  const series = seriesIn((await app.services.metrics?.text()) ?? '')
  const named = readFileSync(alerts, 'utf8').match(/\b(?:snug|process|nodejs)_\w+/g) ?? []
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !series.has(name))).toEqual([])
})

it('has a dashboard that queries existing metrics only and every metric of the server', async () => {
  await using app = await testApp({ env: { METRICS_TOKEN: 'the token of the metrics' } })
  const { panels, templating } = dashboard.parse(JSON.parse(readFileSync(file, 'utf8')))
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const variables = templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query))
  const named = [...expressions, ...variables].flatMap((text) => text.match(/\b(?:snug|process|nodejs)_\w+/g) ?? [])
  const text = (await app.services.metrics?.text()) ?? ''
  const metrics = metricsIn(text)
  const series = seriesIn(text)
  expect(named.filter((name) => !series.has(name))).toEqual([])
  const own = [...metrics.keys()].filter((name) => name.startsWith('snug_'))
  expect(own.filter((name) => !named.some((one) => one.startsWith(name)))).toEqual([])
  expect(expressions.filter((text) => !/\b(?:snug|process|nodejs)_\w+/.test(text))).toEqual([])
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
})

/** Returns the names of the series of all metrics. */
const seriesIn = (text: string): Set<string> =>
  new Set(
    [...metricsIn(text)].flatMap(([name, type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
    ),
  )
