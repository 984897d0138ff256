/** Only server administrators can invite users. */
export const byServerAdmin = { scope: 'admin' } as const

/**
 * The users who can be invited again and can accept: those without a password who are not disabled. Accepting requires the invitation's token, not
 * a sign-in.
 */
export const waitsForAcceptance = { isActive: true, passwordHash: null }

/**
 * Returns whether inviting this user requires a recent password confirmation: for administrators, since anyone who has the link gets their account.
 */
export const needsProof = ({ role }: { role: string }): boolean => role === 'admin'
