import type { Config } from '../../platform/config/config.ts'
import { type RequestEnd, routeOf } from '../../platform/http/request-log.ts'
import type { Log } from '../../platform/http/log.ts'
import { version } from '../../platform/config/version.ts'
import { type Gauges, openGauges } from './gauges.ts'
import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client'

declare module '../../services.ts' {
  interface Services {
    /** Metrics; null unless enabled by a setting. */
    metrics: Metrics | null
  }
}

/** Outcome of finalizing an upload. `refused` is caused by the sender, `failed` by the server. */
type UploadOutcome = 'published' | 'refused' | 'failed'
/** Outcome of a job attempt. `retried` and `interrupted` jobs run again. */
type AttemptOutcome = 'done' | 'retried' | 'failed' | 'interrupted'

/** The metrics of a server, collected while they are enabled. */
export type Metrics = Gauges & {
  countRequest: (end: RequestEnd) => void
  countUpload: (outcome: UploadOutcome) => void
  countDownload: () => void
  countAttempt: (kind: string, outcome: AttemptOutcome, seconds: number) => void
}

/** prom-client gauges whose names look like counters. Each equals the sum of the gauge without the `_total` suffix. */
const misnamedGauges = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Opens the metrics. Returns null, without loading the library, unless a setting enables them. */
export async function openMetrics(config: Pick<Config, 'METRICS_PORT' | 'METRICS_TOKEN'>, log: Log): Promise<Metrics | null> {
  if (config.METRICS_PORT === undefined && config.METRICS_TOKEN === undefined) return null
  const client = await import('prom-client')
  const registry = new client.Registry()
  const registers = [registry]
  client.collectDefaultMetrics({ register: registry })
  for (const name of misnamedGauges) registry.removeSingleMetric(name)
  new client.Gauge({ name: 'snug_build_info', help: 'The version of the server; always 1.', labelNames: ['version'], registers })
    .labels(version)
    .set(1)
  const attempts = new client.Histogram({
    name: 'snug_job_duration_seconds',
    help: 'Duration of job attempts by kind and outcome: done, retried, failed, interrupted.',
    labelNames: ['kind', 'outcome'],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900],
    registers,
  })
  const uploads = new client.Counter({
    name: 'snug_uploads_total',
    help: 'Finalized uploads by outcome: published, refused, failed.',
    labelNames: ['outcome'],
    registers,
  })
  const downloads = new client.Counter({ name: 'snug_downloads_total', help: 'Archive downloads, excluding robots.', registers })
  return {
    ...openGauges(client, registry, log),
    countRequest: await openDurations(client, registry),
    countUpload: (outcome) => uploads.inc({ outcome }),
    countDownload: () => downloads.inc(),
    countAttempt: (kind, outcome, seconds) => attempts.observe({ kind, outcome }, seconds),
  }
}

type Label = 'method' | 'route' | 'status' | 'le'
type Client = typeof import('prom-client')

/** Request counts by duration bucket, and total duration in seconds. */
type Series = { counts: number[]; seconds: number }

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const durationName = 'snug_http_request_duration_seconds'
const durationHelp =
  'Duration of requests by method, route and status class. 499 means that the client disconnected, 408 that it was too slow.'

/**
 * Registers a histogram of request durations and returns a function that records a request. Requests are counted here and
 * passed to prom-client on a scrape, because an observation by the library is slow. All labels have bounded values.
 */
async function openDurations(client: Client, registry: Registry): Promise<(end: RequestEnd) => void> {
  const { type } = await new client.Histogram({ name: durationName, help: durationHelp, registers: [] }).get()
  const routes = new Map<string, Map<string, Series[]>>()
  // A gauge's values can be replaced by overriding `get`; the library's histogram has additional output methods.
  const histogram = class extends client.Gauge<Label> {
    override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
      return { ...(await super.get()), type, values: [...valuesOf(routes)] }
    }
  }
  registry.registerMetric(
    new histogram({ name: durationName, help: durationHelp, labelNames: ['method', 'route', 'status', 'le'], registers: [] }),
  )
  return ({ request, response, status, ms }) => {
    // Event streams are excluded, because they last as long as the client stays connected.
    const media = response.getHeader('content-type')
    if (typeof media === 'string' && media.startsWith('text/event-stream')) return
    const route = routeOf(request)
    let methods = routes.get(route)
    if (!methods) routes.set(route, (methods = new Map<string, Series[]>()))
    let classes = methods.get(request.method)
    if (!classes) methods.set(request.method, (classes = Array.from({ length: 6 }, noRequests)))
    const series = classes[Math.floor(status / 100)]
    if (series) observe(series, ms / 1000)
  }
}

const noRequests = (): Series => ({ counts: Array.from({ length: durationBuckets.length + 1 }, () => 0), seconds: 0 })

function observe(series: Series, seconds: number): void {
  let at = 0
  while (at < durationBuckets.length && seconds > (durationBuckets[at] ?? 0)) at++
  series.counts[at] = (series.counts[at] ?? 0) + 1
  series.seconds += seconds
}

function* valuesOf(routes: ReadonlyMap<string, ReadonlyMap<string, Series[]>>): Generator<MetricValueWithName<Label>> {
  for (const [route, methods] of routes)
    for (const [method, classes] of methods)
      for (const [digit, { counts, seconds }] of classes.entries()) {
        const labels = { method, route, status: `${digit}xx` }
        let total = 0
        // Prometheus buckets are cumulative: each one includes all smaller ones.
        const upTo = counts.map((count, at) => ({ le: durationBuckets[at] ?? '+Inf', value: (total += count) }))
        if (total === 0) continue
        for (const { le, value } of upTo) yield { metricName: `${durationName}_bucket`, labels: { ...labels, le }, value }
        yield { metricName: `${durationName}_sum`, labels, value: seconds }
        yield { metricName: `${durationName}_count`, labels, value: total }
      }
}
