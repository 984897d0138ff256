import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { parseTraceParent, ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace'
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { agentOptions, proxyFor } from '../outbound/proxy.ts'
import type { Log } from '../http/log.ts'
import { version } from '../config/version.ts'

/** The root span of a request or job attempt. */
export type Root = {
  span: Span
  /** Number of child spans that may still be created. */
  remainingSpans: number
  statements: number
  hasEnded: boolean
}

type NewSpan = { name: string; kind: SpanKind; attributes: Attributes }
/** `parent` is the `traceparent` header of the caller; `links` refer to related traces. */
type NewRoot = NewSpan & { parent?: string | undefined; links?: Link[] }

export type Spans = Awaited<ReturnType<typeof openSpans>>

/** Maximum number of child spans per root. A request may run thousands of statements. */
const maxChildSpans = 128
const closeMs = 2000

/** Creates spans and exports them to `url` in the background. */
export async function openSpans(url: string, config: Config, log: Log) {
  const reportLoss = logLosses(log, url)
  const exporter = await openExporter(url, config, reportLoss)
  const own = resourceFromAttributes({ 'service.name': 'snug', 'service.version': version })
  const given = detectResources({ detectors: [envDetector] })
  const provider = new TracerProvider({
    resource: defaultResource().merge(own).merge(given),
    sampler: samplerOf(config),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  return {
    ...spansOf(provider.getTracer('snug', version)),
    /** Flushes pending spans, for at most `limitMs` milliseconds. */
    async close(limitMs = closeMs): Promise<void> {
      const late = wait(limitMs, new Error('The server stopped before they were sent.'), { ref: false })
      const problem = await Promise.race([provider.shutdown().catch(() => undefined), late])
      if (problem) reportLoss(0, problem)
    },
  }
}

function spansOf(tracer: Tracer) {
  const places = new AsyncLocalStorage<{ root: Root; span: Span }>()
  return {
    begin({ name, parent, ...options }: NewRoot): Root {
      const span = tracer.startSpan(name, options, contextOf(parent))
      return { span, remainingSpans: span.isRecording() ? maxChildSpans : 0, statements: 0, hasEnded: false }
    },
    /** Runs `work` with `root` as the parent of its spans. */
    within: <Value>(root: Root, work: () => Value): Value => places.run({ root, span: root.span }, work),
    /** Ends a root span, with an error type if it failed. Work that continues afterwards is not traced. */
    end(root: Root, attributes: Attributes, failure?: string): void {
      const { span, statements } = root
      span.setAttributes({ ...attributes, 'snug.statements': statements })
      if (failure !== undefined) fail(span, failure)
      span.end()
      root.hasEnded = true
    },
    /** Runs `work` in a child span of the current span, if something is being traced and the limit of spans is not reached. */
    async step<Value>(describe: () => NewSpan, work: () => Promise<Value>): Promise<Value> {
      const place = places.getStore()
      if (!place || place.root.hasEnded || place.root.remainingSpans <= 0) return work()
      const { root } = place
      root.remainingSpans--
      const { name, ...options } = describe()
      const span = tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, place.span))
      try {
        return await places.run({ root, span }, work)
      } catch (error) {
        fail(span, error instanceof Error ? error.name : typeof error)
        throw error
      } finally {
        span.end()
      }
    },
    /** Returns the root span of the current request or job. */
    current: () => places.getStore()?.root,
  }
}

/** Records the error type only, because a message could contain user data. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

/** Returns the context for a `traceparent` header. An invalid header is ignored. */
function contextOf(parent: string | undefined) {
  const given: SpanContext | null = parent === undefined ? null : parseTraceParent(parent)
  return given ? trace.setSpanContext(ROOT_CONTEXT, { ...given, isRemote: true }) : ROOT_CONTEXT
}

type Samplers = Record<NonNullable<Config['OTEL_TRACES_SAMPLER']>, Sampler>

/** Returns the sampler that decides which requests and jobs are traced. */
function samplerOf({ OTEL_TRACES_SAMPLER: name = 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: share = 1 }: Config): Sampler {
  const [on, off, ratio] = [new AlwaysOnSampler(), new AlwaysOffSampler(), new TraceIdRatioBasedSampler(share)]
  const samplers: Samplers = {
    always_on: on,
    always_off: off,
    traceidratio: ratio,
    parentbased_always_on: new ParentBasedSampler({ root: on }),
    parentbased_always_off: new ParentBasedSampler({ root: off }),
    parentbased_traceidratio: new ParentBasedSampler({ root: ratio }),
  }
  return samplers[name]
}

/** Minimum interval between log lines in milliseconds. */
const logIntervalMs = 10 * 60_000

/** Reports the number of lost spans and the reason. */
type LossReporter = (spans: number, reason: unknown) => void

/** Creates an exporter that sends spans to a collector. The library also reads further OTEL_* variables. */
async function openExporter(url: string, config: Config, reportLoss: LossReporter): Promise<SpanExporter> {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_HEADERS: headers } = config
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  const proxy = proxyFor(config, new URL(url))
  const exporter = new OTLPTraceExporter({
    url,
    ...(headers && { headers: parseKeyPairsIntoRecord(headers) }),
    ...(proxy && { httpAgentOptions: { keepAlive: true, ...agentOptions(proxy) } }),
  })
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
function logLosses(log: Log, url: string): LossReporter {
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
