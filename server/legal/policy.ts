import { isServerOwner } from '../roles/viewer.ts'

/** Returns whether the caller may change and preview legal pages: only the owner of the server may. Reading them is public. */
export const canUpdate = isServerOwner
/** The same rule as a field scope. */
export const byOwner = { owner: true } as const
