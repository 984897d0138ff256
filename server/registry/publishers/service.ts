import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit, type AuditEvent } from '../../accounts/audit/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { conflict, insufficientPermissions, notFound } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import { adviceForAdmin } from '../../platform/access/roles.ts'
import { Publisher, PublisherMember } from './entity.ts'
import { canAdministerPublisher, canDeletePublisher, type PublisherRule } from './policy.ts'

/** Details of a publisher. Omitted fields keep their values; null clears an optional field. */
export type PublisherDetails = {
  displayName?: string | null | undefined
  description?: string | null | undefined
  websiteUrl?: string | null | undefined
  contactEmail?: string | null | undefined
  allowsManualPublishing?: boolean | null | undefined
}
export type NewPublisher = Omit<PublisherDetails, 'displayName' | 'allowsManualPublishing'> & {
  id: string
  displayName: string
  isVerified?: boolean
}

/**
 * Creates a publisher with the caller as its first admin. `complete` can write more in the same transaction.
 * @throws ApiError Conflict if the id is taken.
 */
export async function createPublisher(
  { em: outer, viewer, ip, now }: SignedInContext,
  { id, displayName, description, websiteUrl, contactEmail, isVerified = false }: NewPublisher,
  complete: (em: EntityManager, publisher: Publisher) => Promise<unknown> = async () => {},
): Promise<Publisher> {
  const details = { description: description ?? '', websiteUrl: websiteUrl ?? null, contactEmail: contactEmail ?? null }
  try {
    return await outer.fork().transactional(async (em) => {
      const publisher = em.create(Publisher, { id, displayName, ...details, isVerified, createdAt: now() })
      em.create(PublisherMember, { publisher, user: em.getReference(User, viewer.id), role: 'admin', createdAt: now() })
      audit(em, {
        kind: 'publisher.created',
        actor: viewer,
        publisher: id,
        summary: `${viewer.displayName} created the publisher ${id}`,
        ip,
      })
      await em.flush()
      await complete(em, publisher)
      return publisher
    })
  } catch (error) {
    throw error instanceof UniqueConstraintViolationException ? idTaken(id) : error
  }
}

export const idTaken = (id: string) => conflict(`The publisher ${id} already exists. Ask one of its admins to add you.`)

/**
 * Changes the details of a publisher. The id is immutable.
 * @throws ApiError NotFound; InsufficientPermissions unless the caller administers the publisher.
 */
export function updatePublisher(context: SignedInContext, id: string, details: PublisherDetails): Promise<Publisher> {
  return changePublisher(context, id, canAdministerPublisher, async (em, publisher) => {
    const before = { ...publisher }
    const { displayName, description, websiteUrl, contactEmail, allowsManualPublishing } = details
    if (displayName != null) publisher.displayName = displayName
    if (description !== undefined) publisher.description = description ?? ''
    if (websiteUrl !== undefined) publisher.websiteUrl = websiteUrl
    if (contactEmail !== undefined) publisher.contactEmail = contactEmail
    if (allowsManualPublishing != null) publisher.allowsManualPublishing = allowsManualPublishing
    const changed = changeable.filter(([field]) => (before[field] ?? null) !== (publisher[field] ?? null))
    if (changed.length) record(em, context, publisher, 'updated', `changed ${changed.map(([, word]) => word).join(', ')} of ${id}`)
    return publisher
  })
}

const changeable = [
  ['displayName', 'name'],
  ['description', 'description'],
  ['websiteUrl', 'website'],
  ['contactEmail', 'contact address'],
  ['allowsManualPublishing', 'manual publishing'],
] as const

/**
 * Deletes a publisher and its memberships. Requires a server admin.
 * @throws ApiError NotFound; Conflict, listing them, while the publisher owns packages or has service accounts.
 */
export function deletePublisher(context: SignedInContext, id: string): Promise<void> {
  return changePublisher(context, id, canDeletePublisher, async (em, publisher) => {
    const owned = await readRows(em, db.selectFrom('packages').select('name').where('publisher_id', '=', id).orderBy('name').limit(11))
    const names =
      owned
        .slice(0, 10)
        .map(({ name }) => name)
        .join(', ') + (owned.length > 10 ? ' and more' : '')
    if (owned.length) throw conflict(`${id} owns ${names}. Transfer them to another publisher or remove them from this one first.`)
    await rejectWithServiceAccounts(em, id)
    record(em, context, publisher, 'deleted', `deleted the publisher ${id}`)
    em.remove(publisher)
  })
}

/** Service accounts belong to their publisher by their membership, so it must not be deleted under them. */
async function rejectWithServiceAccounts(em: EntityManager, id: string): Promise<void> {
  const members = await em.find(PublisherMember, { publisher: id, user: { kind: 'service' } }, { populate: ['user'], limit: 10 })
  const names = members.map(({ user }) => (user as User).displayName).join(', ')
  if (members.length) throw conflict(`${id} has service accounts: ${names}. Delete them first.`)
}

/** Writes an audit entry for a change to a publisher or its members. */
export function record(
  em: EntityManager,
  { viewer, ip }: SignedInContext,
  { id }: Publisher,
  what: 'updated' | 'deleted' | 'member_added' | 'member_updated' | 'member_removed',
  did: string,
  user?: AuditEvent['user'],
): void {
  audit(em, { kind: `publisher.${what}`, actor: viewer, publisher: id, summary: `${viewer.displayName} ${did}`, ip, ...(user && { user }) })
}

/**
 * Changes a publisher or its members in one transaction while holding the publisher's row lock, so that concurrent changes are serialized. `can` is
 * the permission check.
 * @throws ApiError NotFound; InsufficientPermissions; any error thrown by `change`, after a rollback.
 */
export function changePublisher<Result>(
  context: SignedInContext,
  id: string,
  can: PublisherRule,
  change: (em: EntityManager, publisher: Publisher) => Promise<Result>,
): Promise<Result> {
  return context.em.fork().transactional(async (inner) => {
    const publisher = await lockPublisher(inner, id)
    if (!(await can(inner, context, publisher)))
      throw insufficientPermissions(`You do not administer the publisher ${id}. Ask one of its admins.${adviceForAdmin(context)}`)
    return change(inner, publisher)
  })
}

/**
 * Returns the publisher, locked against changes and deletion until the transaction of `em` ends.
 * @throws ApiError NotFound.
 */
export async function lockPublisher(em: EntityManager, id: string): Promise<Publisher> {
  const publisher = await findAndLockPublisher(em, id)
  if (!publisher) throw unknownPublisher(id)
  return publisher
}

/** Returns the locked publisher like `lockPublisher`, or null if it does not exist. */
export const findAndLockPublisher = (em: EntityManager, id: string): Promise<Publisher | null> =>
  em.findOne(Publisher, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })

export const unknownPublisher = (id: string) => notFound(`There is no publisher ${id} on this server.`)
