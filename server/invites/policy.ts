/** Server admins invite people. */
export const byServerAdmin = { scope: 'admin' } as const

/**
 * Who can be invited again, and accept: whoever has no password yet and is not disabled. Whoever holds the token of the invitation accepts it,
 * without signing in.
 */
export const waitsForAcceptance = { isActive: true, passwordHash: null }

/** Whoever has the address of an invitation becomes the person, so to invite an administrator takes a recent proof of the password. */
export const needsProof = ({ role }: { role: string }): boolean => role === 'admin'
