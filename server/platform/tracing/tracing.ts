import { type SpanContext, SpanKind } from '@opentelemetry/api'
import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import type { StatementWatch } from '../db/meter.ts'
import type { Log } from '../http/log.ts'
import { shownName, type RequestEnd, shownPath, routeOf } from '../http/request-log.ts'
import type { ClaimedJob } from '../jobs/lease.ts'
import { onEnqueued } from '../jobs/queue.ts'
import { wrapRequests } from '../http/request-scope.ts'
import { withoutValues } from './statements.ts'
import { openSpans, type Root, type Spans } from './spans.ts'

/** Creates OpenTelemetry spans for the work of the server. */
export type Tracing = Awaited<ReturnType<typeof createTracing>>

/** Creates the tracing of the server, which exports spans to `url`. Spans never contain values of queries, headers, bodies or statements. */
export async function createTracing(url: string, config: Config, log: Log) {
  const spans = await openSpans(url, config, log)
  return {
    /** Traces requests. Call this before other hooks are added. Returns a function to call when a request ends. */
    requests: (app: FastifyInstance) => traceRequests(app, spans, new URL(config.SERVER_URL)),
    statements: traceStatements(spans, config.DB_BACKEND === 'sqlite' ? 'sqlite' : 'postgresql'),
    blobs: (store: BlobStore, backend: string) => traceBlobs(spans, store, backend),
    /** Traces the execution of a GraphQL operation. */
    operation: <Value>({ type, name }: { type: string; name: string | undefined }, execute: () => Promise<Value>): Promise<Value> => {
      const attributes = { 'graphql.operation.type': type, ...(name !== undefined && { 'graphql.operation.name': shownName(name) }) }
      return spans.step(() => ({ name: type, kind: SpanKind.INTERNAL, attributes }), execute)
    },
    ...traceAttempts(spans),
    close: spans.close,
  }
}

function traceStatements(spans: Spans, system: string): StatementWatch {
  return (sql, work) => {
    const root = spans.current()
    if (root) root.statements++
    return spans.step(() => {
      const text = withoutValues(sql)
      const name = /\w+/.exec(text)?.[0].toUpperCase() ?? system
      return { name, kind: SpanKind.CLIENT, attributes: { 'db.system.name': system, 'db.query.text': text } }
    }, work)
  }
}

/** Creates a span for each call of a store; for `open`, until the first bytes. Listings are interleaved with their reader. */
function traceBlobs(spans: Spans, store: BlobStore, backend: string): BlobStore {
  const step = <Value>(name: string, call: () => Promise<Value>) =>
    spans.step(() => ({ name: `blobs ${name}`, kind: SpanKind.CLIENT, attributes: { 'snug.blobs.backend': backend } }), call)
  return {
    ...store,
    stage: (...given) => step('stage', () => store.stage(...given)),
    stageWhole: (...given) => step('stageWhole', () => store.stageWhole(...given)),
    openStaged: (...given) => step('openStaged', () => store.openStaged(...given)),
    promote: (...given) => step('promote', () => store.promote(...given)),
    discard: (...given) => step('discard', () => store.discard(...given)),
    open: (...given) => step('open', () => store.open(...given)),
    read: (...given) => step('read', () => store.read(...given)),
    link: (...given) => step('link', () => store.link(...given)),
    place: (...given) => step('place', () => store.place(...given)),
    hash: (...given) => step('hash', () => store.hash(...given)),
    has: (...given) => step('has', () => store.has(...given)),
    remove: (...given) => step('remove', () => store.remove(...given)),
    restore: (...given) => step('restore', () => store.restore(...given)),
    check: () => step('check', () => store.check()),
  }
}

/** Outcomes that are marked as errors. */
const failures = ['retried', 'failed']

/** Traces job attempts. A trace is linked to the request or job that enqueued the job, if that happened recently in this process. */
function traceAttempts(spans: Spans) {
  const askedBy = new LRUCache<string, SpanContext>({ max: 1000 })
  return {
    jobs(em: EntityManager): void {
      onEnqueued(em, (id) => {
        const root = spans.current()
        if (root) askedBy.set(id, root.span.spanContext())
      })
    },
    async attempt<Outcome extends string>({ id, kind, attempts }: ClaimedJob, run: () => Promise<Outcome>): Promise<Outcome> {
      const cause = askedBy.get(id)
      const attributes = { 'snug.job.id': id, 'snug.job.kind': kind, 'snug.job.attempt': attempts }
      const links = cause ? [{ context: cause }] : []
      const root = spans.begin({ name: `job ${kind}`, kind: SpanKind.CONSUMER, attributes, links })
      let outcome: Outcome | undefined
      try {
        return (outcome = await spans.within(root, run))
      } finally {
        const shown = outcome ?? 'failed'
        spans.end(root, { 'snug.job.outcome': shown }, failures.includes(shown) ? shown : undefined)
      }
    },
  }
}

/** Creates a span for each request, following OpenTelemetry's semantic conventions for HTTP. Returns a function that ends the span. */
function traceRequests(app: FastifyInstance, spans: Spans, address: URL): (end: RequestEnd) => void {
  const roots = new WeakMap<FastifyRequest, Root>()
  const begin = (request: FastifyRequest): Root => {
    const { method, headers, is404 } = request
    const route = is404 ? undefined : routeOf(request)
    const attributes = {
      'http.request.method': method,
      'url.scheme': address.protocol.slice(0, -1),
      'url.path': shownPath(request),
      'server.address': address.hostname,
      'snug.request.id': request.id,
      ...(route !== undefined && { 'http.route': route }),
    }
    const { traceparent } = headers
    const parent = typeof traceparent === 'string' ? traceparent : undefined
    return spans.begin({ name: route === undefined ? method : `${method} ${route}`, kind: SpanKind.SERVER, attributes, parent })
  }
  wrapRequests(app, (request, work) => {
    let root = roots.get(request)
    if (!root) roots.set(request, (root = begin(request)))
    spans.within(root, work)
  })
  return ({ request, status }) => {
    const root = roots.get(request)
    if (root) spans.end(root, { 'http.response.status_code': status }, status >= 500 ? String(status) : undefined)
  }
}
