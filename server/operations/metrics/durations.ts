import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client'
import { type RequestEnd, routeOf } from '../../platform/http/request-log.ts'

type Label = 'method' | 'route' | 'status' | 'le'
type Client = typeof import('prom-client')

/** Request counts by duration bucket, and total duration in seconds. */
type Series = { counts: number[]; seconds: number }

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const name = 'snug_http_request_duration_seconds'
const help = 'Duration of requests by method, route and status class. 499 means that the client disconnected, 408 that it was too slow.'

/**
 * Registers a histogram of request durations and returns a function that records a request. Requests are counted here and passed to prom-client when
 * metrics are scraped, because an observation by the library takes several microseconds, a large part of a short request. Labels have bounded values:
 * routes of the server, known methods and status classes.
 */
export async function openDurations(client: Client, registry: Registry): Promise<(end: RequestEnd) => void> {
  const { type } = await new client.Histogram({ name, help, registers: [] }).get()
  const routes = new Map<string, Map<string, Series[]>>()
  // A gauge's values can be replaced by overriding `get`; the library's histogram has additional output methods.
  const histogram = class extends client.Gauge<Label> {
    override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
      return { ...(await super.get()), type, values: [...valuesOf(routes)] }
    }
  }
  registry.registerMetric(new histogram({ name, help, labelNames: ['method', 'route', 'status', 'le'], registers: [] }))
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

const noRequests = (): Series => ({ counts: Array.from({ length: buckets.length + 1 }, () => 0), seconds: 0 })

function observe(series: Series, seconds: number): void {
  let at = 0
  while (at < buckets.length && seconds > (buckets[at] ?? 0)) at++
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
        const upTo = counts.map((count, at) => ({ le: buckets[at] ?? '+Inf', value: (total += count) }))
        if (total === 0) continue
        for (const { le, value } of upTo) yield { metricName: `${name}_bucket`, labels: { ...labels, le }, value }
        yield { metricName: `${name}_sum`, labels, value: seconds }
        yield { metricName: `${name}_count`, labels, value: total }
      }
}
