import { type Reads, toDate } from '../db/reads.ts'

/** Number of waiting, running and failed jobs by kind. */
export type Backlog = {
  counts: { kind: string; state: 'queued' | 'running' | 'failed'; total: number }[]
  /** Age in seconds of the oldest due job; 0 if no job is due. */
  oldestDueSeconds: number
}

/** Maximum count per kind and state, which bounds the cost of counting. */
const maxCount = 10_000

/** Returns the backlog of the workers. Each queue is counted up to 10,000, so the cost does not grow with its length. */
export async function readBacklog(reads: Reads, now: Date): Promise<Backlog> {
  const rows = await reads.all<{ kind: string; state: 'queued' | 'running' | 'failed'; total: number | string }>(countSql)
  const oldest = await reads.get<{ run_at: number | string | Date | null }>("select min(run_at) as run_at from jobs where state = 'queued'")
  const dueMs = oldest?.run_at == null ? 0 : now.getTime() - toDate(oldest.run_at).getTime()
  // PostgreSQL returns counts as strings.
  return { counts: rows.map(({ total, ...row }) => ({ ...row, total: Number(total) })), oldestDueSeconds: Math.max(dueMs, 0) / 1000 }
}

// Finds the kinds by one index lookup each (loose index scan).
const countSql = `with recursive kinds (kind) as (
    select min(kind) from jobs union all select (select min(kind) from jobs where kind > kinds.kind) from kinds where kinds.kind is not null)
  select kinds.kind, states.state,
    (select count(*) from (select 1 from jobs where jobs.kind = kinds.kind and jobs.state = states.state limit ${maxCount}) counted) as total
  from kinds cross join (select 'queued' as state union all select 'running' union all select 'failed') states
  where kinds.kind is not null`
