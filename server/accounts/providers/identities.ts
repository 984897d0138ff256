import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { conflict, notFound } from '../../errors.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { maySignInWithPassword } from '../../platform/access/roles.ts'
import { batched } from '../../platform/db/batched.ts'
import type { Services } from '../../services.ts'
import { audit } from '../audit/service.ts'
import { Invite } from '../invites/entity.ts'
import { findInvite, waitsForAcceptance } from '../invites/service.ts'
import { ProviderSession, Session } from '../sessions/entity.ts'
import { lockAccount, lockIfSignedIn } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import { displayName as nameSchema, email as emailSchema, emailKey } from '../users/input.ts'
import { type Claims, AttemptFailure } from './client.ts'
import { LinkedIdentity } from './entity.ts'
import { type Groups, highestRole, mergeGrants } from './groups.ts'
import { listProviders, type Provider } from './providers.ts'

/** A person at a provider, as the verified claims describe them. */
export type Person = { issuer: string; subject: string; claims: Claims }

export const emailOf = ({ claims }: Person): string | null => {
  const parsed = emailSchema.safeParse(claims.email)
  return parsed.success ? parsed.data : null
}

/** Returns the columns of the identity of a person, for a user. */
const identityOf = (person: Person, user: User, now: Date) => ({
  user,
  issuer: person.issuer,
  subject: person.subject,
  email: emailOf(person),
  createdAt: now,
  lastUsedAt: now,
})

/** Returns the account that a person is linked to. The e-mail address of the person is not considered. */
export async function findLinked(em: EntityManager, { issuer, subject }: Person): Promise<LinkedIdentity | null> {
  return em.findOne(LinkedIdentity, { issuer, subject }, { populate: ['user'], refresh: true })
}

async function requireLinked(em: EntityManager, person: Person): Promise<LinkedIdentity> {
  const linked = await findLinked(em, person)
  if (!linked) throw new AttemptFailure('not_linked')
  return linked
}

/** Loads the identities of users, oldest first. */
export const loadIdentities = batched(async (em: EntityManager, users: string[]) => {
  const all = await em.find(LinkedIdentity, { user: { id: { $in: users } } }, { orderBy: { createdAt: 'asc', id: 'asc' } })
  return Map.groupBy(all, ({ user }) => user.id)
})

/**
 * Links a person to the account of the session that started the attempt.
 * @throws AttemptFailure `already_linked` if the person is linked to another account.
 */
export async function linkIdentity(context: SignedInContext, { label }: Provider, person: Person): Promise<void> {
  const { em, viewer, ip, now } = context
  const known = await findLinked(em, person)
  if (known?.user.id === viewer.id) return
  if (known) throw new AttemptFailure('already_linked')
  await orAlreadyLinked(() =>
    em.fork().transactional(async (inner) => {
      const user = await lockIfSignedIn(inner, context)
      if (!user) throw new AttemptFailure('session_ended')
      user.providerSignInAt = now()
      inner.create(LinkedIdentity, identityOf(person, user, now()))
      audit(inner, {
        kind: 'identity.linked',
        actor: viewer,
        user: viewer,
        summary: `${viewer.displayName} linked an identity at ${label}`,
        ip,
      })
    }),
  )
}

/**
 * Accepts an invitation with an identity instead of a password.
 * @throws AttemptFailure `invitation_invalid`; `already_linked` if the person is linked to another account.
 */
export async function acceptWithIdentity(context: Context, { label }: Provider, person: Person, token: string): Promise<LinkedIdentity> {
  const { em, ip, now } = context
  if (await findLinked(em, person)) throw new AttemptFailure('already_linked')
  const invite = await findInvite(context, token)
  if (!invite) throw new AttemptFailure('invitation_invalid')
  const user = invite.user as User
  await orAlreadyLinked(() =>
    em.fork().transactional(async (inner) => {
      const made = await inner.nativeUpdate(User, { id: user.id, ...waitsForAcceptance }, { providerSignInAt: now() })
      const taken = made && (await inner.nativeDelete(Invite, { id: invite.id, expiresAt: { $gt: now() } }))
      if (!taken) throw new AttemptFailure('invitation_invalid')
      inner.create(LinkedIdentity, identityOf(person, inner.getReference(User, user.id), now()))
      const summary = `${user.displayName} accepted the invitation with an identity at ${label}`
      audit(inner, { kind: 'user.invite_accepted', actor: user, user, summary, ip })
    }),
  )
  return requireLinked(em, person)
}

const orAlreadyLinked = (work: () => Promise<void>): Promise<void> =>
  work().catch((error: unknown) => {
    throw error instanceof UniqueConstraintViolationException ? new AttemptFailure('already_linked') : error
  })

/**
 * Creates an account for a person if OIDC_SIGNUP allows it.
 * @throws AttemptFailure `not_linked` in all other cases, also if the e-mail address belongs to an account, so that nothing is revealed about it.
 */
export async function signUpWithIdentity(context: Context, { label }: Provider, person: Person, groups: Groups): Promise<LinkedIdentity> {
  const { em, config, ip, now } = context
  const email = emailOf(person)
  if (email === null || !maySignUp(config, email, person, groups)) throw new AttemptFailure('not_linked')
  const displayName = nameOf(person, email)
  const account = {
    email,
    emailKey: emailKey(email),
    displayName,
    role: config.OIDC_DEFAULT_ROLE,
    hasMappedRole: true,
    passwordHash: null,
  } as const
  try {
    await em.fork().transactional(async (inner) => {
      const user = inner.create(User, { ...account, createdAt: now(), providerSignInAt: now() })
      inner.create(LinkedIdentity, identityOf(person, user, now()))
      audit(inner, { kind: 'user.created', actor: user, user, summary: `${displayName} signed up through ${label}`, ip })
    })
  } catch (error) {
    if (!(error instanceof UniqueConstraintViolationException)) throw error
    // A concurrent attempt may have created the account.
  }
  return requireLinked(em, person)
}

function maySignUp(config: Services['config'], email: string, { claims }: Person, groups: Groups): boolean {
  const { OIDC_SIGNUP, OIDC_SIGNUP_DOMAINS, OIDC_SIGNUP_GROUPS } = config
  if (OIDC_SIGNUP === 'domain') {
    const domain = emailKey(email).split('@')[1] ?? ''
    return claims.email_verified === true && OIDC_SIGNUP_DOMAINS.some((one) => emailKey(`a@${one}`) === `a@${domain}`)
  }
  // Providers of companies often leave out `email_verified`. An address that they say is not verified is not accepted.
  const mayHaveEmail = claims.email_verified === undefined || claims.email_verified === true
  return OIDC_SIGNUP === 'group' && mayHaveEmail && (groups?.names.some((name) => OIDC_SIGNUP_GROUPS.includes(name)) ?? false)
}

function nameOf({ claims }: Person, email: string): string {
  for (const name of [claims.name, claims.preferred_username]) {
    const parsed = nameSchema.safeParse(typeof name === 'string' ? name.slice(0, 100) : name)
    if (parsed.success) return parsed.data
  }
  return email.split('@')[0]?.slice(0, 100) ?? email
}

/**
 * Unlinks an identity of the caller, and ends the other sessions that it started.
 * @throws ApiError NotFound; Conflict for the last way to sign in; InsufficientPermissions for a session without a recent proof;
 * MissingAuthentication as `lockAccount`.
 */
export async function unlinkIdentity(context: SignedInContext, id: string): Promise<LinkedIdentity> {
  const { em, viewer, credential, ip, config } = context
  requireRecentProof(context)
  const isUsable = await usableIdentities(context)
  return em.fork().transactional(async (inner) => {
    // Of two concurrent requests, only one can unlink the last but one identity.
    const user = await lockAccount(inner, context)
    const identities = await inner.find(LinkedIdentity, { user: viewer.id }, { refresh: true })
    const identity = identities.find((one) => one.id === id)
    if (!identity) throw notFound('You have no linked identity with this id.')
    const hasPassword = maySignInWithPassword({ role: user.role, hasPassword: user.passwordHash != null }, config)
    if (!hasPassword && !identities.some((one) => one !== identity && isUsable(one))) throw conflict(onlyIdentity(config))
    const { issuer, subject } = identity
    await inner.nativeDelete(LinkedIdentity, { id })
    if (identities.length === 1) await inner.nativeUpdate(User, { id: viewer.id }, { providerSignInAt: null })
    if (identity.grants !== null) await applyGrants(inner, context, user)
    await endSessionsOf(inner, { issuer, subject }, credential.kind === 'session' ? credential.id : undefined)
    const summary = `${viewer.displayName} unlinked an identity at ${new URL(issuer).host}`
    audit(inner, { kind: 'identity.unlinked', actor: viewer, user: viewer, summary, ip })
    return identity
  })
}

/**
 * Gives a user what the groups of all linked identities gave at their latest sign-ins, and takes what they no longer give. Grants of a provider that was
 * removed, or that has no groups claim any more, do not count. The role becomes the highest of those given by hand and by groups; that of the owner
 * stays. Call it in a transaction that has locked the user.
 */
export async function applyGrants(em: EntityManager, context: Context, user: User): Promise<void> {
  const { config, keys, ip, now, syncMemberships } = context
  const providers = (await listProviders({ config, keys, em })).filter(({ groupsClaim }) => groupsClaim !== null).map(({ name }) => name)
  const given = await em.find(LinkedIdentity, { user: user.id, grantedBy: { $in: providers } }, { refresh: true })
  const { role: byGroups, memberships } = mergeGrants(given.flatMap(({ grants }) => grants ?? []))
  const { role: current, hasMappedRole, givenRole } = await em.findOneOrFail(User, user.id, { refresh: true })
  const byHand = hasMappedRole ? (givenRole ?? config.OIDC_DEFAULT_ROLE) : current
  const role = highestRole([byHand, byGroups]) ?? byHand
  if (role !== current && current !== 'owner') {
    const columns = hasMappedRole ? { role } : { role, givenRole: current, hasMappedRole: true }
    await em.nativeUpdate(User, { id: user.id, role: current }, columns)
    audit(em, { kind: 'user.updated', actor: user, user, summary: `The groups of ${user.displayName} gave the role ${role}`, ip })
  }
  await syncMemberships(em, user, memberships, { ip, now: now() })
}

/** A passkey does not count here: accounts without a password must sign in through a provider from time to time. */
const onlyIdentity = ({ PASSWORD_SIGN_IN: allowed }: Services['config']): string =>
  `This is your only identity, and you have no password that is accepted. Link another identity first${allowed === 'all' ? ', or ask an administrator to set a password' : ''}.`

/** Returns a function that returns whether the provider of an identity is still configured. */
export async function usableIdentities(context: Context): Promise<(identity: LinkedIdentity) => boolean> {
  const providers = await listProviders(context)
  return ({ issuer }) => providers.some((provider) => sameIssuer(provider.issuer, issuer))
}

/** Whether two texts name the same issuer. Some providers end theirs with a slash in one place only. */
export const sameIssuer = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '')

/** Ends the sessions that an identity started, or those of one session of the provider. Returns their number. */
export async function endSessionsOf(
  em: EntityManager,
  which: { issuer: string; subject?: string; sid?: string },
  except?: string,
): Promise<number> {
  const rows = await em.find(ProviderSession, which)
  const ids = rows.map(({ session }) => session.id).filter((one) => one !== except)
  return ids.length === 0 ? 0 : em.nativeDelete(Session, { id: { $in: ids } })
}
