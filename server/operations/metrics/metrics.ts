import type { Config } from '../../platform/config/config.ts'
import type { RequestEnd } from '../../platform/http/request-log.ts'
import { version } from '../../platform/config/version.ts'
import { openDurations } from './durations.ts'
import { type Gauges, openGauges } from './gauges.ts'

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
export async function openMetrics(config: Pick<Config, 'METRICS_PORT' | 'METRICS_TOKEN'>): Promise<Metrics | null> {
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
    ...openGauges(client, registry),
    countRequest: await openDurations(client, registry),
    countUpload: (outcome) => uploads.inc({ outcome }),
    countDownload: () => downloads.inc(),
    countAttempt: (kind, outcome, seconds) => attempts.observe({ kind, outcome }, seconds),
  }
}
