import { SpanKind } from '@opentelemetry/api'
import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import type { StatementWatch } from '../db/meter.ts'
import type { Log } from '../http/log.ts'
import { shownName } from '../http/remark.ts'
import type { RequestEnd } from '../http/request-log/request-log.ts'
import type { ClaimedJob } from '../jobs/lease.ts'
import { withoutValues } from './statements.ts'
import { traceBlobs } from './blobs.ts'
import { traceAttempts } from './jobs.ts'
import { traceRequests } from './requests.ts'
import { openSpans, type Spans } from './spans.ts'

/** Creates OpenTelemetry spans for the work of the server. */
export type Tracing = {
  /** Traces requests. Call this before other hooks are added. Returns a function to call when a request ends. */
  requests(app: FastifyInstance): (end: RequestEnd) => void
  /** Traces database statements. */
  statements: StatementWatch
  /** Wraps a store so that its calls are traced. `backend` is the kind of backend. */
  blobs(store: BlobStore, backend: string): BlobStore
  /** Traces the execution of a GraphQL operation. */
  operation<Value>(operation: { type: string; name: string | undefined }, execute: () => Promise<Value>): Promise<Value>
  /** Records which request or job enqueues a job. */
  jobs(em: EntityManager): void
  /** Traces a job attempt. */
  attempt<Outcome extends string>(held: ClaimedJob, run: () => Promise<Outcome>): Promise<Outcome>
  /** Flushes pending spans, for at most two seconds by default. */
  close(limitMs?: number): Promise<void>
}

/** Opens tracing to `url`. Spans never contain values of queries, headers, bodies or statements. */
export async function tracingTo(url: string, config: Config, log: Log): Promise<Tracing> {
  const spans = await openSpans(url, config, log)
  return {
    requests: (app) => traceRequests(app, spans, new URL(config.SERVER_URL)),
    statements: traceStatements(spans, config.DB_BACKEND === 'sqlite' ? 'sqlite' : 'postgresql'),
    blobs: (store, backend) => traceBlobs(spans, store, backend),
    operation: ({ type, name }, execute) => {
      const attributes = { 'graphql.operation.type': type, ...(name !== undefined && { 'graphql.operation.name': shownName(name) }) }
      return spans.step(() => ({ name: type, kind: SpanKind.INTERNAL, attributes }), execute)
    },
    ...traceAttempts(spans),
    close: (limitMs) => spans.close(limitMs),
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
