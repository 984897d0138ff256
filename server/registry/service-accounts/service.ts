import { randomBytes } from 'node:crypto'
import { type FilterQuery, LockMode, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { type AuditEvent, audit } from '../../accounts/audit/service.ts'
import type { AccessToken } from '../../accounts/tokens/entity.ts'
import { revokeTokenOf } from '../../accounts/tokens/revoke.ts'
import { type Rotation, rotateToken } from '../../accounts/tokens/rotate.ts'
import { createToken, type TokenInput, type TokenOwner } from '../../accounts/tokens/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { conflict, insufficientPermissions, notFound } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { adviceForAdmin, effectiveScopes } from '../../platform/access/roles.ts'
import { beyond, type DirectedPage, pageByKey } from '../../platform/graphql/connections.ts'
import { deleteAccount } from '../account-deletion/service.ts'
import { type Publisher, PublisherMember, type PublisherRole } from '../publishers/entity.ts'
import { changePublisher, lockPublisher } from '../publishers/service.ts'
import { canManageServiceAccounts } from './policy.ts'

/** Roles that a service account can have on the server. None of them administers it. */
export const serviceRoles = ['viewer', 'member'] as const
export type ServiceRole = (typeof serviceRoles)[number]

/**
 * An account of a program. It belongs to the publisher that it is a member of, or else to the server. Its memberships never change: it is created
 * with one or without, and publishers cannot add or remove service accounts.
 */
export type ServiceAccount = { user: User }

type NewServiceAccount = {
  name: string
  role?: ServiceRole | null | undefined
  publisherId?: string | null | undefined
  publisherRole?: PublisherRole | null | undefined
}

/** Creates a service account of a publisher, or of the server. @throws ApiError NotFound; InsufficientPermissions */
export async function createServiceAccount(context: SignedInContext, input: NewServiceAccount): Promise<ServiceAccount> {
  const { name, publisherId, publisherRole } = input
  return changeOwner(context, publisherId ?? null, async (em, publisher) => {
    const email = newAddress(name)
    const role = input.role ?? (publisher ? 'member' : 'viewer')
    const createdAt = context.now()
    const user = em.create(User, { kind: 'service', email, emailKey: email, displayName: name, role, passwordHash: null, createdAt })
    if (publisher) em.create(PublisherMember, { publisher, user, role: publisherRole ?? 'member', createdAt })
    record(em, context, { kind: 'service_account.created', user, publisher, did: `created the service account ${name} (${role})` })
    await em.flush()
    return { user }
  })
}

/** Returns a new address below `.invalid`, where no mail can be delivered (RFC 2606 §2). Renaming the account does not change it. */
function newAddress(name: string): string {
  const words = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
  return `${words.replaceAll(/^-+|-+$/g, '') || 'account'}-${randomBytes(4).toString('hex')}@service.invalid`
}

type ServiceAccountChanges = {
  name?: string | null | undefined
  role?: ServiceRole | null | undefined
  publisherRole?: PublisherRole | null | undefined
  isActive?: boolean | null | undefined
}

/**
 * Renames a service account, changes its roles, or disables or enables it. Omitted fields stay unchanged. The tokens of a disabled account get 401
 * until it is enabled.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict for the publisher role of an account of the server.
 */
export async function updateServiceAccount(context: SignedInContext, id: string, changes: ServiceAccountChanges): Promise<ServiceAccount> {
  const { user: found, membership: known } = await find(context.em, id)
  return changeOwner(context, known?.publisher.id ?? null, async (em, publisher) => {
    const user = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE, populate: ['passwordHash'] })
    if (!user) throw unknown()
    const membership = publisher && (await em.findOneOrFail(PublisherMember, { publisher, user }))
    if (changes.publisherRole != null && !membership) throw conflict(`${found.displayName} belongs to the server, not to a publisher.`)
    const done = apply(user, membership, changes)
    const did = `changed the service account ${found.displayName}: ${done.join(', ')}`
    if (done.length > 0) record(em, context, { kind: 'service_account.updated', user, publisher, did })
    return { user }
  })
}

/** Applies the changes. @returns what changed, in words. */
function apply(user: User, membership: PublisherMember | null, { name, role, publisherRole, isActive }: ServiceAccountChanges): string[] {
  const before = { name: user.displayName, role: user.role, isActive: user.isActive, publisherRole: membership?.role }
  user.displayName = name ?? user.displayName
  user.role = role ?? user.role
  user.isActive = isActive ?? user.isActive
  if (membership) membership.role = publisherRole ?? membership.role
  return [
    user.displayName === before.name ? [] : `name ${user.displayName}`,
    user.role === before.role ? [] : `role ${user.role}`,
    membership?.role === before.publisherRole ? [] : `${membership?.role} of the publisher`,
    user.isActive === before.isActive ? [] : user.isActive ? 'active' : 'disabled',
  ].flat()
}

/**
 * Deletes a service account with its tokens. Published packages remain.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict when packages would be left without an uploader.
 */
export async function deleteServiceAccount(context: SignedInContext, id: string): Promise<void> {
  const { em, viewer } = context
  await requireManaged(em, context, id)
  await deleteAccount(context, id, async (inner, user) => {
    const publisher = await requireManaged(inner, context, id)
    const did = `deleted the service account ${user.displayName}`
    return { kind: 'service_account.deleted', summary: `${viewer.displayName} ${did}`, ...(publisher && { publisher }) }
  })
}

/** Creates a token of a service account; see `createToken`. @throws ApiError NotFound; InsufficientPermissions; Conflict; InvalidInput */
export const createServiceAccountToken = async (context: SignedInContext, id: string, input: TokenInput) =>
  createToken(context, input, await tokenOwner(context, id))

/** Gives a token of a service account a new secret; see `rotateToken`. @throws ApiError NotFound; InsufficientPermissions; Conflict; InvalidInput */
export const rotateServiceAccountToken = async (context: SignedInContext, id: string, rotation: Rotation) =>
  rotateToken(context, rotation, await tokenOwner(context, id))

/** Returns a service account as the owner of tokens that the caller manages. @throws ApiError NotFound; InsufficientPermissions; Conflict if disabled. */
async function tokenOwner(context: SignedInContext, id: string): Promise<TokenOwner> {
  const publisher = await requireManaged(context.em, context, id)
  const { user } = await find(context.em, id)
  if (!user.isActive) throw conflict(`${user.displayName} is disabled. Enable it first.`)
  const check = (em: EntityManager) => lockManager(em, context, id, publisher)
  return { id, displayName: user.displayName, role: user.role, publisher, check }
}

/** Checks that the caller still manages a service account, and locks what that depends on: the publisher's members, and the caller's role. */
async function lockManager(em: EntityManager, context: SignedInContext, id: string, publisher: string | undefined): Promise<void> {
  if (publisher !== undefined) await lockPublisher(em, publisher)
  const actor = await em.findOne(User, { id: context.viewer.id, isActive: true }, { lockMode: LockMode.PESSIMISTIC_READ, refresh: true })
  if (!actor) throw unauthenticated(context)
  const viewer = { ...context.viewer, role: actor.role }
  await requireManaged(em, { ...context, viewer, scopes: effectiveScopes(viewer, context.credential) }, id)
}

/**
 * Revokes a token of a service account, and all tokens created with it.
 * @throws ApiError NotFound, also for a token of another account; InsufficientPermissions.
 */
export async function revokeServiceAccountToken(context: SignedInContext, id: string, tokenId: string): Promise<AccessToken> {
  const publisher = await requireManaged(context.em, context, id)
  return revokeTokenOf(context, tokenId, async (_em, owner) => {
    if (owner.id !== id) throw notFound('The service account has no token with this id.')
    return publisher
  })
}

/** Returns the publisher of a service account, if any. @throws ApiError NotFound; InsufficientPermissions unless the caller manages it. */
async function requireManaged(em: EntityManager, context: SignedInContext, id: string): Promise<string | undefined> {
  const { user, membership } = await find(em, id)
  const publisher = membership?.publisher.id
  if (await canManageServiceAccounts(em, context, publisher === undefined ? null : { id: publisher })) return publisher
  const managers = publisher === undefined ? 'administrators of this server' : `admins of the publisher ${publisher}`
  throw insufficientPermissions(`Only ${managers} can manage the service account ${user.displayName}.${adviceForAdmin(context)}`)
}

/** Makes a change in one transaction, with the publisher locked; null for the server. @throws ApiError NotFound; InsufficientPermissions */
function changeOwner<Result>(
  context: SignedInContext,
  publisherId: string | null,
  change: (em: EntityManager, publisher: Publisher | null) => Promise<Result>,
): Promise<Result> {
  if (publisherId !== null) return changePublisher(context, publisherId, canManageServiceAccounts, change)
  return context.em.fork().transactional(async (em) => {
    if (await canManageServiceAccounts(em, context, null)) return change(em, null)
    throw insufficientPermissions(`Only administrators can manage the service accounts of this server.${adviceForAdmin(context)}`)
  })
}

type Recorded = { kind: AuditEvent['kind']; user: User; publisher: Publisher | null; did: string }

function record(em: EntityManager, { viewer, ip }: SignedInContext, { publisher, did, ...event }: Recorded): void {
  audit(em, { ...event, actor: viewer, ...(publisher && { publisher: publisher.id }), summary: `${viewer.displayName} ${did}`, ip })
}

/** Returns the service account with this id, or null. */
export async function findServiceAccount(em: EntityManager, id: string): Promise<ServiceAccount | null> {
  const user = await em.findOne(User, { id, kind: 'service' }, { populate: ['passwordHash'] })
  return user && { user }
}

async function find(em: EntityManager, id: string): Promise<ServiceAccount & { membership: PublisherMember | null }> {
  const account = await findServiceAccount(em, id)
  if (!account) throw unknown()
  return { ...account, membership: await em.findOne(PublisherMember, { user: id }) }
}

const unknown = () => notFound('There is no service account with this id.')

const hasPublisher = (alias: string) => `exists (select 1 from publisher_members m where m.user_id = ${alias}.id)`

/** Lists service accounts as a connection, newest first by default: those of the server, those of publishers, or both. */
export function listServiceAccounts(em: EntityManager, ofServer: boolean | null | undefined, { direction, ...page }: DirectedPage) {
  const condition = (alias: string) => (ofServer ? `not ${hasPublisher(alias)}` : hasPublisher(alias))
  const where: FilterQuery<User> = { kind: 'service', ...(ofServer != null && { [raw(condition)]: [] }) }
  return pageByKey(page, {
    keyOf: ({ user }: ServiceAccount) => user.id,
    load: async (limit, after) => {
      const order = direction ?? 'desc'
      const further = after === undefined ? {} : { id: { [beyond[order]]: after } }
      const users = await em.find(User, { $and: [where, further] }, { orderBy: { id: order }, limit, populate: ['passwordHash'] })
      return users.map((user) => ({ user }))
    },
    count: () => em.count(User, where),
  })
}
