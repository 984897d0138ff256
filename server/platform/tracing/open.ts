import type { Config } from '../config/config.ts'
import type { Log } from '../http/log.ts'
import type { Tracing } from './tracing.ts'

/** Opens tracing. Returns null, without loading the library, if no endpoint is configured. */
export async function openTracing(config: Config, log: Log): Promise<Tracing | null> {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = config
  if (config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return null
  const url = own ?? (shared && `${shared.replace(/\/$/, '')}/v1/traces`)
  if (!url) return null
  const { tracingTo } = await import('./tracing.ts')
  return tracingTo(url, config, log)
}
