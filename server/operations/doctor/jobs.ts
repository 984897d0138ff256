import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../../platform/config/config.ts'
import { toDate } from '../../platform/db/reads/reads.ts'
import type { Check } from './check.ts'

type Failed = { kind: string; total: number | string; last: number | string | Date | null }

/** Reports jobs that have failed permanently, with the number and the last failure per kind. Failed jobs do not affect the server itself. */
export async function checkJobs(em: EntityManager, { SERVER_URL }: Pick<Config, 'SERVER_URL'>): Promise<Check[]> {
  const check = { name: 'jobs' }
  const rows: Failed[] = await em.execute(
    "select kind, count(*) as total, max(finished_at) as last from jobs where state = 'failed' group by kind order by count(*) desc, kind",
  )
  if (rows.length === 0) return [{ ...check, status: 'ok', message: 'No jobs have failed.' }]
  const kinds = rows.map(({ kind, total, last }) => `${total} of ${kind}${last === null ? '' : `, last at ${toDate(last).toISOString()}`}`)
  const advice = `See ${SERVER_URL}/admin/jobs for the causes, and to retry the jobs. Failed jobs are deleted after 90 days.`
  return [{ ...check, status: 'warning', message: `Jobs have failed: ${kinds.join('; ')}.`, advice }]
}
