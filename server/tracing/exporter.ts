import { ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Config } from '../config/config.ts'
import type { Log } from '../http/log.ts'

/** So often a failure is logged at most. */
const quietMs = 10 * 60_000

/** Tells of spans that were lost, and why: once, and not again for a while. */
export type TellLost = (spans: number, reason: unknown) => void

/** Sends spans to a collector, as the configuration says. Beside it, the library reads further variables itself. */
export async function openExporter(url: string, config: Config, tellLost: TellLost): Promise<SpanExporter> {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_HEADERS: headers } = config
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  const exporter = new OTLPTraceExporter({ url, ...(headers && { headers: parseKeyPairsIntoRecord(headers) }) })
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) tellLost(spans.length, result.error)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** Logs that spans cannot be sent to a collector. */
export function lossesIn(log: Log, url: string): TellLost {
  let [lost, toldAt] = [0, Number.NEGATIVE_INFINITY]
  return (spans, reason) => {
    lost += spans
    if (performance.now() - toldAt < quietMs) return
    toldAt = performance.now()
    log.warning(`traces: cannot be sent to ${new URL(url).origin} (${lost} spans so far): ${describe(reason)}`)
    lost = 0
  }
}

function describe(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason)
  const code = 'code' in reason && (typeof reason.code === 'string' || typeof reason.code === 'number') ? reason.code : ''
  return [reason.message, code].filter((part) => part !== '').join(', ') || reason.name
}
