import type { EntityManager } from '@mikro-orm/sql'
import { conflict, insufficientPermissions } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { mustHaveSecondFactor, secondFactorIsDue } from '../../platform/access/policy.ts'
import type { Config } from '../../platform/config/config.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { User } from '../users/entity.ts'
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

/**
 * Throws InsufficientPermissions for a session that lacks a required second factor while its user has one. Such a session must prove that one: it
 * could otherwise add a factor with the password alone.
 */
export async function requireProvedFactor(em: EntityManager, context: SignedInContext): Promise<void> {
  if (!secondFactorIsDue(context)) return
  const { viewer, config } = context
  const hasPasskeys = (await usablePasskeys(em, viewer.id, config)).length > 0
  if (hasPasskeys) throw insufficientPermissions('You have a passkey. Prove it first: until then this session can add no second factor.')
  if ((await em.count(Totp, { user: viewer.id, confirmedAt: { $ne: null } })) > 0)
    throw insufficientPermissions('You have an authenticator app. Sign in again with its code to add another second factor.')
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

/** Counts the passkeys that were created for another domain, which browsers no longer offer. */
export const countVoidPasskeys = (config: Pick<Config, 'SERVER_URL'>) =>
  db
    .selectFrom('passkeys')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('disabled_at', 'is', null)
    .where('rp_id', '<>', relyingParty(config)?.id ?? '')

/** Counts the active administrators, the owner included, who have no second factor. */
export const countAdminsWithoutFactor = (config: Pick<Config, 'SERVER_URL'>) =>
  db
    .selectFrom('users as u')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('u.role', 'in', ['admin', 'owner'])
    .where('u.is_active', '=', true)
    .where('u.kind', '=', 'person')
    .where(({ not, or, exists, selectFrom }) =>
      not(
        or([
          exists(
            selectFrom('totp_secrets as t').select('t.user_id').whereRef('t.user_id', '=', 'u.id').where('t.confirmed_at', 'is not', null),
          ),
          exists(
            selectFrom('passkeys as k')
              .select('k.id')
              .whereRef('k.user_id', '=', 'u.id')
              .where('k.disabled_at', 'is', null)
              .where('k.rp_id', '=', relyingParty(config)?.id ?? ''),
          ),
        ]),
      ),
    )

/** Whether a passkey is accepted, was created for another domain, or was disabled because it was copied. */
export function passkeyStatus({ disabledAt, rpId }: Passkey, config: Pick<Config, 'SERVER_URL'>): 'active' | 'void' | 'copied' {
  if (disabledAt) return 'copied'
  return rpId === relyingParty(config)?.id ? 'active' : 'void'
}
