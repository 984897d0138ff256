import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../config/config.ts'
import { toDate } from '../db/reads/reads.ts'
import type { Check } from './check.ts'

type Failed = { kind: string; total: number | string; last: number | string | Date | null }

/** Looks whether jobs have failed for good: how many of each kind, and when the last one did. None of that keeps the server from working. */
export async function checkJobs(em: EntityManager, { SERVER_URL }: Pick<Config, 'SERVER_URL'>): Promise<Check[]> {
  const check = { name: 'jobs' }
  const rows: Failed[] = await em.execute(
    "select kind, count(*) as total, max(finished_at) as last from jobs where state = 'failed' group by kind order by count(*) desc, kind",
  )
  if (rows.length === 0) return [{ ...check, status: 'ok', message: 'No job has failed for good.' }]
  const kinds = rows.map(
    ({ kind, total, last }) => `${total} of ${kind}${last === null ? '' : `, the last at ${toDate(last).toISOString()}`}`,
  )
  const advice = `${SERVER_URL}/admin/jobs says why, and has them tried again. They are forgotten after 90 days.`
  return [{ ...check, status: 'warning', message: `Jobs have failed for good: ${kinds.join('; ')}.`, advice }]
}
