import type { EntityManager } from '@mikro-orm/sql'
import { pageByKey } from '../graphql/connections.ts'
import { Job, type JobState } from './entity.ts'

export type JobFilter = {
  state?: JobState | null | undefined
  kind?: string | null | undefined
  subject?: string | null | undefined
}
type Page = { first?: number | null | undefined; after?: string | null | undefined }

/** Jobs as a connection, what was asked for last first (UUIDv7 ids grow with time). */
export function listJobs(em: EntityManager, { state, kind, subject }: JobFilter, page: Page) {
  const where = { ...(state && { state }), ...(kind && { kind }), ...(subject && { subject }) }
  return pageByKey(page, {
    keyOf: ({ id }: Job) => id,
    load: (limit, after) =>
      em.find(Job, { ...where, ...(after !== undefined && { id: { $lt: after } }) }, { orderBy: { id: 'desc' }, limit }),
    count: () => em.count(Job, where),
  })
}
