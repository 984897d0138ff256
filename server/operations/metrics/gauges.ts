import type { Registry } from 'prom-client'
import { cachedCheck, inTime } from '../checks/cached-check.ts'
import type { Log } from '../../platform/http/log.ts'

/** A value of a gauge with its labels. */
type Reading = { labels?: Record<string, string>; value: number }
/** Values read from a source, by gauge name. */
type Readings<Name extends string> = Partial<Record<Name, readonly Reading[]>>

/** Gauges that are read together on each scrape. */
type Source<Name extends string> = {
  /** Name of the source, such as `jobs`. */
  name: string
  gauges: Record<Name, { help: string; labels?: readonly string[]; isTotal?: boolean }>
  read: () => Readings<Name> | Promise<Readings<Name>>
}

export type Gauges = {
  /** Adds a source. It is read at most once every five seconds, regardless of the number of scrapes. Gauges that cannot be read are omitted. */
  add<Name extends string>(source: Source<Name>): void
  contentType: string
  /** Returns all metrics in Prometheus' text format. */
  text(): Promise<string>
}

/** Milliseconds for which the values of a source are cached. */
const cacheMs = 5000
/** Timeout in milliseconds for reading a source, so that a scrape does not wait for an unavailable database. */
const timeoutMs = 2000

type Client = typeof import('prom-client')

/** Adds support for gauge sources to a registry. */
export function openGauges(client: Client, registry: Registry, log: Log): Gauges {
  const refreshes: (() => Promise<void>)[] = []
  const success = new client.Gauge({
    name: 'snug_collector_success',
    help: 'Whether the last read of a metrics source succeeded (1), by source.',
    labelNames: ['collector'],
    registers: [registry],
  })
  return {
    add({ name, gauges, read }) {
      const write = writer(client, registry, gauges)
      const refresh = async () => {
        try {
          write(await inTime(read(), timeoutMs))
          success.set({ collector: name }, 1)
        } catch (error) {
          log.warning(`metrics: ${name} cannot be read: ${String(error)}`)
          write({})
          success.set({ collector: name }, 0)
        }
      }
      refreshes.push(cachedCheck(refresh, { timeoutMs: 2 * timeoutMs, keptMs: cacheMs }))
    },
    contentType: registry.contentType,
    async text() {
      await Promise.all(refreshes.map((refresh) => refresh()))
      return registry.metrics()
    },
  }
}

/** Registers the gauges and returns a function that replaces all their values. */
function writer<Name extends string>(client: Client, registry: Registry, gauges: Source<Name>['gauges']) {
  const all = (Object.keys(gauges) as Name[]).map((name) => {
    const { help, labels = [], isTotal = false } = gauges[name]
    const options = { name, help, labelNames: [...labels], registers: [registry] }
    return { name, metric: isTotal ? new client.Counter(options) : new client.Gauge(options) }
  })
  return (readings: Readings<Name>): void => {
    for (const { name, metric } of all) {
      metric.reset()
      // `reset` sets a gauge without labels to 0, which was never read, so remove it. A gauge with labels is empty after `reset`.
      if (!readings[name] && (gauges[name].labels ?? []).length === 0) metric.remove()
      for (const { labels = {}, value } of readings[name] ?? []) metric.inc(labels, value)
    }
  }
}
