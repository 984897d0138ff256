import type { EntityManager } from '@mikro-orm/sql'
import { newestFirst, type PageArguments } from '../graphql/connections.ts'
import { Job, type JobState } from './entity.ts'

export type JobFilter = {
  state?: JobState | null | undefined
  kind?: string | null | undefined
  subject?: string | null | undefined
}

/** Lists jobs as a connection, newest first. */
export const listJobs = (em: EntityManager, { state, kind, subject }: JobFilter, page: PageArguments) =>
  newestFirst(em, Job, { ...(state && { state }), ...(kind && { kind }), ...(subject && { subject }) }, page)
