import { raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { conflict, insufficientPermissions } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { mustHaveSecondFactor } from '../../platform/access/policy.ts'
import type { Config } from '../../platform/config/config.ts'
import { batched } from '../../platform/db/batched.ts'
import { audit } from '../audit/service.ts'
import { revokeSessions } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import { isOneself } from '../users/policy.ts'
import { editable, reloadUser } from '../users/service.ts'
import { relyingParty } from './challenges.ts'
import { Passkey, RecoveryCode, Totp } from './entity.ts'

/** Locks the row of an active user until the end of the transaction, so that changes of its factors happen one after the other. */
export async function lockAccount(em: EntityManager, id: string) {
  const locked = await em.nativeUpdate(User, { id, isActive: true, kind: 'person' }, { isActive: true })
  return locked ? em.findOne(User, id, { populate: ['passwordHash'], refresh: true }) : null
}

/** Returns the passkeys with which a user can sign in: those of the current domain that are not disabled. */
export async function usablePasskeys(em: EntityManager, userId: string, config: Pick<Config, 'SERVER_URL'>): Promise<Passkey[]> {
  const party = relyingParty(config)
  return party ? em.find(Passkey, { user: userId, disabledAt: null, rpId: party.id }) : []
}

type Left = { passkeys?: number; totp?: false }

/** Throws Conflict if the server requires a second factor and the user would have none left. */
export async function requireOtherFactor(em: EntityManager, { viewer, credential, config }: SignedInContext, left: Left): Promise<void> {
  if (!mustHaveSecondFactor({ viewer, credential, config })) return
  const passkeys = left.passkeys ?? (await usablePasskeys(em, viewer.id, config)).length
  const hasTotp = left.totp ?? (await em.count(Totp, { user: viewer.id, confirmedAt: { $ne: null } })) > 0
  if (passkeys === 0 && !hasTotp) throw conflict('This server requires a second factor, and this is your only one. Add another one first.')
}

export type Factors = { passkeys: Passkey[]; hasTotp: boolean; recoveryCodes: number }

/** Loads the factors of users, with the same queries for all users that are requested at the same moment. */
export const loadFactors = batched<Factors>(async (em, ids) => {
  const all = { user: { $in: ids } }
  const passkeys = Map.groupBy(await em.find(Passkey, all, { orderBy: { id: 'asc' } }), ({ user }) => user.id)
  const totps = new Set((await em.find(Totp, { ...all, confirmedAt: { $ne: null } })).map(({ user }) => user.id))
  const codes = Map.groupBy(await em.find(RecoveryCode, all, { fields: ['user'] }), ({ user }) => user.id)
  const factorsOf = (id: string) => ({
    passkeys: passkeys.get(id) ?? [],
    hasTotp: totps.has(id),
    recoveryCodes: codes.get(id)?.length ?? 0,
  })
  return new Map(ids.map((id) => [id, factorsOf(id)]))
})

/** Whether a passkey is accepted, was created for another domain, or was disabled because it was copied. */
export function passkeyStatus({ disabledAt, rpId }: Passkey, config: Pick<Config, 'SERVER_URL'>): 'active' | 'void' | 'copied' {
  if (disabledAt) return 'copied'
  return rpId === relyingParty(config)?.id ? 'active' : 'void'
}

/** Removes all factors of a user and ends the sessions, in the transaction of `em`. */
export async function removeFactors(em: EntityManager, userId: string): Promise<void> {
  // Locks the row, without a change: a sign-in with the lost factor that is about to finish ends, too.
  await em.nativeUpdate(User, { id: userId }, { isActive: raw('is_active') })
  for (const entity of [Passkey, Totp, RecoveryCode]) await em.nativeDelete(entity as typeof Passkey, { user: userId })
  await revokeSessions(em, userId)
}

/**
 * Removes the second factor and the passkeys of a user who lost them, and ends the user's sessions. For administrators.
 * @throws ApiError NotFound; InsufficientPermissions for the owner, for the caller's own account, and without a recent proof.
 */
export async function resetSecondFactor(context: SignedInContext, id: string) {
  const { em, viewer, ip } = context
  if (isOneself(context, { id }))
    throw insufficientPermissions('You cannot reset your own second factor here. Change it in your account settings.')
  requireRecentProof(context)
  await em.transactional(async (inner) => {
    const user = await editable(inner, id)
    await removeFactors(inner, id)
    const summary = `${viewer.displayName} reset the second factor of ${user.displayName}`
    audit(inner, { kind: 'user.second_factor_reset', actor: viewer, user, summary, ip })
  })
  return reloadUser(em, id)
}
