import { isServerAdmin } from '../roles/viewer.ts'

/** Only server administrators may list, cancel and retry jobs. */
export const canSeeJobs = isServerAdmin
/** The rule of `canSeeJobs` as an auth scope for GraphQL fields. */
export const byServerAdmin = { scope: 'admin' } as const
