import { ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Config } from '../config/config.ts'
import type { Log } from '../http/log.ts'

/** Minimum interval between log lines in milliseconds. */
const logIntervalMs = 10 * 60_000

/** Reports the number of lost spans and the reason. */
export type LossReporter = (spans: number, reason: unknown) => void

/** Creates an exporter that sends spans to a collector. The library also reads further OTEL_* variables. */
export async function openExporter(url: string, config: Config, reportLoss: LossReporter): Promise<SpanExporter> {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_HEADERS: headers } = config
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  const exporter = new OTLPTraceExporter({ url, ...(headers && { headers: parseKeyPairsIntoRecord(headers) }) })
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) reportLoss(spans.length, result.error)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** Returns a function that logs lost spans, at most once per interval. */
export function logLosses(log: Log, url: string): LossReporter {
  let [lost, loggedAt] = [0, Number.NEGATIVE_INFINITY]
  return (spans, reason) => {
    lost += spans
    if (performance.now() - loggedAt < logIntervalMs) return
    loggedAt = performance.now()
    log.warning(`traces: cannot be sent to ${new URL(url).origin} (${lost} spans so far): ${describe(reason)}`)
    lost = 0
  }
}

function describe(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason)
  const code = 'code' in reason && (typeof reason.code === 'string' || typeof reason.code === 'number') ? reason.code : ''
  return [reason.message, code].filter((part) => part !== '').join(', ') || reason.name
}
