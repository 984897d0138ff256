import { isServerAdmin } from '../roles/viewer.ts'

/** Server admins see the SDKs, and install, rebuild and remove them. */
export const canManageSdks = isServerAdmin
/** The same as the scope of a field. */
export const byServerAdmin = { scope: 'admin' } as const
