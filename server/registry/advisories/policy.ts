import { isServerAdmin } from '../../platform/access/roles.ts'

/**
 * Server admins can see, import, withdraw and remove all advisories. Other users see only the parts of an advisory that concern a package they can
 * read.
 */
export const canManageAdvisories = isServerAdmin
/** `canManageAdvisories` as the auth scope of a GraphQL field. */
export const byServerAdmin = { scope: 'admin' } as const
