import type { EntityManager } from '@mikro-orm/sql'
import { conflict, insufficientPermissions } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { mustHaveSecondFactor, secondFactorIsDue } from '../../platform/access/policy.ts'
import type { Config } from '../../platform/config/config.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { relyingParty } from './challenges.ts'
import { Passkey, RecoveryCode, Totp } from './entity.ts'

/** Returns the passkeys with which a user can sign in: those of the current domain that are not disabled. */
export async function usablePasskeys(em: EntityManager, userId: string, config: Pick<Config, 'SERVER_URL'>): Promise<Passkey[]> {
  const party = relyingParty(config)
  return party ? em.find(Passkey, { user: userId, disabledAt: null, rpId: party.id }) : []
}

/** Returns the passkeys with which a user can sign in, and whether the user has an authenticator app: either is a second factor. */
async function findFactors(em: EntityManager, userId: string, config: Pick<Config, 'SERVER_URL'>) {
  const hasTotp = (await em.count(Totp, { user: userId, confirmedAt: { $ne: null } })) > 0
  return { passkeys: await usablePasskeys(em, userId, config), hasTotp }
}

/**
 * Throws InsufficientPermissions for a session that lacks a required second factor while its user has one. Such a session must prove that one: it
 * could otherwise add a factor with the password alone.
 */
export async function requireProvedFactor(em: EntityManager, context: SignedInContext): Promise<void> {
  if (!secondFactorIsDue(context)) return
  const { viewer, config } = context
  const { passkeys, hasTotp } = await findFactors(em, viewer.id, config)
  if (passkeys.length > 0)
    throw insufficientPermissions('You have a passkey. Prove it first: until then this session can add no second factor.')
  if (hasTotp)
    throw insufficientPermissions('You have an authenticator app. Enter its code first: until then this session can add no second factor.')
}

/** Throws Conflict if the server requires a second factor and the user has none besides the given one. Call it before removing a factor. */
export async function requireOtherFactor(em: EntityManager, context: SignedInContext, removed: Passkey | 'totp'): Promise<void> {
  const { viewer, config } = context
  if (!mustHaveSecondFactor(context)) return
  const { passkeys, hasTotp } = await findFactors(em, viewer.id, config)
  const left = { passkeys: passkeys.filter((one) => one !== removed), hasTotp: hasTotp && removed !== 'totp' }
  if (!hasSecondFactor(left, config))
    throw conflict('This server requires a second factor, and this is your only one. Add another one first.')
}

/** Returns whether a user with these factors has a second factor: an authenticator app, or a passkey that is accepted. */
export const hasSecondFactor = (
  { passkeys, hasTotp }: Pick<Factors, 'passkeys' | 'hasTotp'>,
  config: Pick<Config, 'SERVER_URL'>,
): boolean => hasTotp || passkeys.some((passkey) => passkeyStatus(passkey, config) === 'active')

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

/** Counts the active administrators, the owner included, who can sign in with a password and have no second factor. */
export const countAdminsWithoutFactor = (config: Pick<Config, 'SERVER_URL' | 'PASSWORD_SIGN_IN'>) =>
  db
    .selectFrom('users as u')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('u.role', 'in', config.PASSWORD_SIGN_IN === 'owner' ? ['owner'] : ['admin', 'owner'])
    .where('u.password_hash', 'is not', null)
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
