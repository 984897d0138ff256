import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client'
import type { RequestEnd } from '../http/request-log/request-log.ts'
import { routeOf } from '../http/request-log/route-of.ts'

type Label = 'method' | 'route' | 'status' | 'le'
type Client = typeof import('prom-client')

/** How many requests took up to so long, by bucket, and how long all of them took. */
type Series = { counts: number[]; seconds: number }

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const name = 'snug_http_request_duration_seconds'
const help = 'Requests by method, route and class of status; 499 and 408 stand for clients that went away or were too slow.'

/**
 * A histogram of requests, and what counts one. They are counted here, since an observation by the library costs several microseconds, which
 * is much of what a short request takes; it tells them when somebody asks. Labels are what the server has, never what a client makes up: its
 * routes, the methods that it knows, classes of status.
 */
export async function openDurations(client: Client, registry: Registry): Promise<(end: RequestEnd) => void> {
  const { type } = await new client.Histogram({ name, help, registers: [] }).get()
  const routes = new Map<string, Map<string, Series[]>>()
  // The library's histogram has further ways of telling its values; a gauge has this one.
  const histogram = class extends client.Gauge<Label> {
    override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
      return { ...(await super.get()), type, values: [...valuesOf(routes)] }
    }
  }
  registry.registerMetric(new histogram({ name, help, labelNames: ['method', 'route', 'status', 'le'], registers: [] }))
  return ({ request, response, status, ms }) => {
    // An event stream lasts for as long as somebody watches.
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
        // Of each bucket, those below are a part.
        const upTo = counts.map((count, at) => ({ le: buckets[at] ?? '+Inf', value: (total += count) }))
        if (total === 0) continue
        for (const { le, value } of upTo) yield { metricName: `${name}_bucket`, labels: { ...labels, le }, value }
        yield { metricName: `${name}_sum`, labels, value: seconds }
        yield { metricName: `${name}_count`, labels, value: total }
      }
}
