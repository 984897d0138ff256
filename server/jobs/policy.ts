import { isServerAdmin } from '../roles/viewer.ts'

/** Only server administrators may list, cancel and retry jobs. */
export const canSeeJobs = isServerAdmin
/** The same rule as the auth scope of a field. */
export const byServerAdmin = { scope: 'admin' } as const
