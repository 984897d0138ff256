import { isServerOwner } from '../roles/viewer.ts'

/** Everybody reads the legal pages; the owner of the server alone changes them, and looks at what a text would become. */
export const canUpdate = isServerOwner
/** The same as the scope of a field. */
export const byOwner = { owner: true } as const
