import { isServerAdmin } from '../roles/viewer.ts'

/**
 * Server admins see every advisory whole, import, withdraw and remove them. Others see what an advisory says of a package, with the package.
 */
export const canManageAdvisories = isServerAdmin
/** The same as the scope of a field. */
export const byServerAdmin = { scope: 'admin' } as const
