import { SpanKind } from '@opentelemetry/api'
import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import type { StatementWatch } from '../db/meter.ts'
import type { Log } from '../http/log.ts'
import { shownName } from '../http/remark.ts'
import type { RequestEnd } from '../http/request-log/request-log.ts'
import type { Held } from '../jobs/lease.ts'
import { withoutValues } from './statements.ts'
import { traceBlobs } from './blobs.ts'
import { traceAttempts } from './jobs.ts'
import { traceRequests } from './requests.ts'
import { openSpans, type Spans } from './spans.ts'

/** What makes spans of what the server does. */
export type Tracing = {
  /** Traces requests; to be called before other hooks are added. Gives what has to hear of their ends. */
  requests(app: FastifyInstance): (end: RequestEnd) => void
  /** Runs statements of the database. */
  statements: StatementWatch
  /** The same store, of a kind, with its calls traced. */
  blobs(store: BlobStore, kept: string): BlobStore
  /** Executes an operation of GraphQL. */
  operation<Value>(operation: { type: string; name: string | undefined }, execute: () => Promise<Value>): Promise<Value>
  /** Remembers which request or job asked for a job. */
  jobs(em: EntityManager): void
  /** Runs an attempt at a job. */
  attempt<Outcome extends string>(held: Held, run: () => Promise<Outcome>): Promise<Outcome>
  /** Sends what was not sent yet, for two seconds at most unless said otherwise. */
  close(limitMs?: number): Promise<void>
}

/** Sends traces to `url`: never a value of a query, a header, a body or a statement. */
export async function tracingTo(url: string, config: Config, log: Log): Promise<Tracing> {
  const spans = await openSpans(url, config, log)
  return {
    requests: (app) => traceRequests(app, spans, new URL(config.SERVER_URL)),
    statements: traceStatements(spans, config.DB_BACKEND === 'sqlite' ? 'sqlite' : 'postgresql'),
    blobs: (store, kept) => traceBlobs(spans, store, kept),
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
