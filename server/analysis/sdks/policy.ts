import { isServerAdmin } from '../../platform/roles/viewer.ts'

/** Server administrators can list, install, rebuild and remove SDKs. */
export const canManageSdks = isServerAdmin
/** GraphQL authorization scope for `canManageSdks`. */
export const byServerAdmin = { scope: 'admin' } as const
