import { type Reads, toDate } from '../db/reads/reads.ts'

/** Jobs that wait, run, or have failed for good, by kind. */
export type Backlog = {
  counts: { kind: string; state: 'queued' | 'running' | 'failed'; total: number }[]
  /** How long the job that has been due for longest has been so; 0 when none is due. */
  oldestDueSeconds: number
}

/** The most that is counted: beyond, a queue is long, whatever its length. */
const most = 10_000

/** What there is to do for the workers. The cost does not grow with the queues: each is counted up to 10,000. */
export async function readBacklog(reads: Reads, now: Date): Promise<Backlog> {
  const rows = await reads.all<{ kind: string; state: 'queued' | 'running' | 'failed'; total: number | string }>(countSql)
  const oldest = await reads.get<{ run_at: number | string | Date | null }>("select min(run_at) as run_at from jobs where state = 'queued'")
  const dueMs = oldest?.run_at == null ? 0 : now.getTime() - toDate(oldest.run_at).getTime()
  // PostgreSQL counts in texts.
  return { counts: rows.map(({ total, ...row }) => ({ ...row, total: Number(total) })), oldestDueSeconds: Math.max(dueMs, 0) / 1000 }
}

// Each kind is found by one look into the index, whatever lies between.
const countSql = `with recursive kinds (kind) as (
    select min(kind) from jobs union all select (select min(kind) from jobs where kind > kinds.kind) from kinds where kinds.kind is not null)
  select kinds.kind, states.state,
    (select count(*) from (select 1 from jobs where jobs.kind = kinds.kind and jobs.state = states.state limit ${most}) counted) as total
  from kinds cross join (select 'queued' as state union all select 'running' union all select 'failed') states
  where kinds.kind is not null`
