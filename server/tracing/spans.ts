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
import { parseTraceParent } from '@opentelemetry/core'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import type { Log } from '../http/log.ts'
import { version } from '../version.ts'
import { lossesIn, openExporter } from './exporter.ts'
import { samplerOf } from './sampler.ts'

/** A request, or an attempt at a job: a span with others below it. */
export type Root = {
  span: Span
  /** How many more spans there may be below it. */
  room: number
  statements: number
  hasEnded: boolean
}

type NewSpan = { name: string; kind: SpanKind; attributes: Attributes }
/** `traceparent` of whoever asks for it; links to what caused it. */
type NewRoot = NewSpan & { parent?: string | undefined; links?: Link[] }

export type Spans = {
  begin(root: NewRoot): Root
  /** Does work of which the spans are below this one. */
  within<Value>(root: Root, work: () => Value): Value
  /** Ends it; with an error when it failed. What goes on after that is not traced any more. */
  end(root: Root, attributes: Attributes, failure?: string): void
  /** Does work under a span of its own, below that of what is going on here; without one when nothing is traced, or too much was. */
  step<Value>(describe: () => NewSpan, work: () => Promise<Value>): Promise<Value>
  /** The request or the job that is going on here. */
  current(): Root | undefined
  /** Sends what was not sent yet, for `limitMs` at most. */
  close(limitMs?: number): Promise<void>
}

/** One request may run thousands of statements. */
const mostBelow = 128
const closeMs = 2000

/** Opens what makes spans and sends them to `url` in the background. */
export async function openSpans(url: string, config: Config, log: Log): Promise<Spans> {
  const tellLost = lossesIn(log, url)
  const exporter = await openExporter(url, config, tellLost)
  const own = resourceFromAttributes({ 'service.name': 'snug', 'service.version': version })
  const given = detectResources({ detectors: [envDetector] })
  const provider = new TracerProvider({
    resource: defaultResource().merge(own).merge(given),
    sampler: samplerOf(config),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  return {
    ...spansOf(provider.getTracer('snug', version)),
    async close(limitMs = closeMs) {
      const late = wait(limitMs, new Error('The server stopped before they were sent.'), { ref: false })
      const problem = await Promise.race([provider.shutdown().catch(() => undefined), late])
      if (problem) tellLost(0, problem)
    },
  }
}

function spansOf(tracer: Tracer): Omit<Spans, 'close'> {
  const places = new AsyncLocalStorage<{ root: Root; span: Span }>()
  return {
    begin({ name, parent, ...options }) {
      const span = tracer.startSpan(name, options, contextOf(parent))
      return { span, room: span.isRecording() ? mostBelow : 0, statements: 0, hasEnded: false }
    },
    within: (root, work) => places.run({ root, span: root.span }, work),
    end(root, attributes, failure) {
      const { span, statements } = root
      span.setAttributes({ ...attributes, 'snug.statements': statements })
      if (failure !== undefined) fail(span, failure)
      span.end()
      root.hasEnded = true
    },
    async step(describe, work) {
      const place = places.getStore()
      if (!place || place.root.hasEnded || place.root.room <= 0) return work()
      const { root } = place
      root.room--
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
    current: () => places.getStore()?.root,
  }
}

/** Only what kind of error it was: a message could tell what somebody sent. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

/** Takes a trace over from another program; one that is not well-formed is none. */
function contextOf(parent: string | undefined) {
  const given: SpanContext | null = parent === undefined ? null : parseTraceParent(parent)
  return given ? trace.setSpanContext(ROOT_CONTEXT, { ...given, isRemote: true }) : ROOT_CONTEXT
}
