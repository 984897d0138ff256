import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../db/batched.ts'
import { type Actor, isServerAdmin, mayWrite } from '../roles/viewer.ts'
import { PublisherMember, type PublisherRole } from './entity.ts'

// Who does what with a publisher. Both doors call these rules, and the `viewerCan…` fields show what they say.

type Identified = { id: string }
/** Whether the caller may do something with a publisher. */
export type PublisherRule = (em: EntityManager, actor: Actor, publisher: Identified) => Promise<boolean>

/** Its admins and server admins look after it. */
const looksAfter: PublisherRule = async (em, actor, publisher) =>
  isServerAdmin(actor) || (await roleIn(em, actor.viewer, publisher)) === 'admin'

/** Whoever looks after it administers it, with a credential that may write. */
export const canAdministerPublisher: PublisherRule = async (em, actor, publisher) => mayWrite(actor) && looksAfter(em, actor, publisher)

/** Changes what it says of itself. */
export const canChangeDetails: PublisherRule = (em, actor, publisher) => canAdministerPublisher(em, actor, publisher)
/** Adds members, and changes what they are. */
export const canManageMembers: PublisherRule = (em, actor, publisher) => canAdministerPublisher(em, actor, publisher)
/** Has its domain looked up at once. */
export const canCheckDomain: PublisherRule = (em, actor, publisher) => canAdministerPublisher(em, actor, publisher)
/** Sees what happened to it; also with a credential that only reads. */
export const canSeePublisherActivity: PublisherRule = (em, actor, publisher) => looksAfter(em, actor, publisher)
/** Sees what is known of its domain; also with a credential that only reads. */
export const canSeeDomainCheck: PublisherRule = (em, actor, publisher) => looksAfter(em, actor, publisher)

/** Whoever manages members takes this one out; anybody may leave by themselves. */
export const canRemoveMember =
  (userId: string): PublisherRule =>
  async (em, actor, publisher) =>
    (await canManageMembers(em, actor, publisher)) ||
    (mayWrite(actor) && actor.viewer.id === userId && (await isMember(em, actor.viewer, publisher)))

/** Its members and server admins see who the members are. */
export const canSeeMembers: PublisherRule = async (em, actor, publisher) =>
  isServerAdmin(actor) || (await isMember(em, actor.viewer, publisher))
/** They see its unlisted packages, too. */
export const canSeeUnlistedPackages: PublisherRule = (em, actor, publisher) => canSeeMembers(em, actor, publisher)

/** Server admins make one by name, and delete it; whoever may publish claims a domain instead. */
export const canDeletePublisher: PublisherRule = async (_em, actor) => isServerAdmin(actor)

// Who somebody is in a publisher.

/** Whether somebody is a member: only members give packages to it, or take them away. */
export const isMember = async (em: EntityManager, viewer: Identified, publisher: Identified): Promise<boolean> =>
  (await roleIn(em, viewer, publisher)) !== null

/** What somebody is in a publisher now; null for nothing. */
export const roleIn = (em: EntityManager, viewer: Identified, publisher: Identified): Promise<PublisherRole | null> =>
  loadRole({ em }, `${publisher.id} ${viewer.id}`)

/** By publisher and person. */
const loadRole = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' ')).map(([publisher = '', user = '']) => ({ publisher, user }))
  const rows = await em.find(PublisherMember, { $or: pairs })
  return new Map(rows.map((row) => [`${row.publisher.id} ${row.user.id}`, row.role]))
})
