import { isServerAdmin } from '../roles/viewer.ts'

/** Server admins see the jobs, cancel them, and have one tried again that failed for good. */
export const canSeeJobs = isServerAdmin
/** The same as the scope of a field. */
export const byServerAdmin = { scope: 'admin' } as const
