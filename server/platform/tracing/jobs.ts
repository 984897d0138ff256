import type { EntityManager } from '@mikro-orm/sql'
import { type SpanContext, SpanKind } from '@opentelemetry/api'
import { LRUCache } from 'lru-cache'
import type { ClaimedJob } from '../jobs/lease.ts'
import { onEnqueued } from '../jobs/wake.ts'
import type { Spans } from './spans.ts'

/** Outcomes that are marked as errors. */
const failures = ['retried', 'failed']

/** Traces job attempts. A trace is linked to the request or job that enqueued the job, if that happened recently in this process. */
export function traceAttempts(spans: Spans) {
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
