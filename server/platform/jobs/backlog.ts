import { expressionBuilder, sql } from 'kysely'
import { db, type Tables } from '../db/query.ts'
import type { Reads } from '../db/reads.ts'
import { type JobState, jobStates } from './entity.ts'

const eb = expressionBuilder<Tables>()

/** Number of waiting, running and failed jobs by kind. */
type Backlog = {
  counts: { kind: string; state: 'queued' | 'running' | 'failed'; total: number }[]
  /** Age in seconds of the oldest due job; 0 if no job is due. */
  oldestDueSeconds: number
}

/** Jobs of one kind in one state. */
export type JobGroup = { kind: string; state: JobState; count: number }

/** Returns the number of jobs by kind and state, up to 10,000 each. Groups without jobs are left out. */
export async function readJobGroups(reads: Reads): Promise<JobGroup[]> {
  const rows = await reads.all(countsOf(jobStates))
  return rows.map(({ total, ...group }) => ({ ...group, count: total })).filter(({ count }) => count > 0)
}

/** Maximum count per kind and state, which bounds the cost of counting. */
const maxCount = 10_000

/** Returns the backlog of the workers. Each queue is counted up to 10,000, so the cost does not grow with its length. */
export async function readBacklog(reads: Reads, now: Date): Promise<Backlog> {
  const counts = await reads.all(countsOf(['queued', 'running', 'failed'] as const))
  const oldest = await reads.get(
    db
      .selectFrom('jobs')
      .select(({ fn }) => fn.min('run_at').as('run_at'))
      .where('state', '=', 'queued'),
  )
  const dueMs = oldest?.run_at ? now.getTime() - oldest.run_at.getTime() : 0
  return { counts, oldestDueSeconds: Math.max(dueMs, 0) / 1000 }
}

/** Counts the jobs of a kind (`kinds`) and a state (`states`). */
const jobsOfGroup = db
  .selectFrom(
    db
      .selectFrom('jobs')
      .select(eb.lit(1).as('one'))
      .where('jobs.kind', '=', sql.ref<string>('kinds.kind'))
      .where('jobs.state', '=', sql.ref<JobState>('states.state'))
      .limit(maxCount)
      .as('counted'),
  )
  .select(({ fn }) => fn.countAll<number>().as('total'))

/** Counts the jobs by kind and state. Finds the kinds by one index lookup each (loose index scan). */
function countsOf<State extends JobState>(states: readonly State[]) {
  const listed = states
    .map((state) => db.selectNoFrom(eb.cast<State>(sql.lit(state), 'text').as('state')))
    .reduce((all, state) => all.unionAll(state))
  return db
    .withRecursive('kinds(kind)', (query) =>
      query
        .selectFrom('jobs')
        .select(({ fn }) => fn.min('kind').as('kind'))
        .unionAll(
          query
            .selectFrom('kinds')
            .select((each) =>
              each
                .selectFrom('jobs')
                .select(({ fn }) => fn.min('jobs.kind').as('kind'))
                .whereRef('jobs.kind', '>', 'kinds.kind')
                .$asScalar()
                .$notNull()
                .as('kind'),
            )
            .where('kinds.kind', 'is not', null),
        ),
    )
    .selectFrom('kinds')
    .crossJoin(listed.as('states'))
    .select(['kinds.kind', 'states.state'])
    .select(jobsOfGroup.$asScalar().$notNull().as('total'))
    .where('kinds.kind', 'is not', null)
}
