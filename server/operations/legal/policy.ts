import { isServerOwner } from '../../platform/access/roles.ts'

/** Returns whether the caller may change and preview legal pages: only the owner of the server may. Reading them is public. */
export const canUpdate = isServerOwner
/** Field scope for changing legal pages. */
export const byOwner = { owner: true } as const
