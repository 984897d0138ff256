import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../platform/db/batched.ts'
import { type Actor, isServerAdmin, mayWrite } from '../../platform/access/roles.ts'
import { PublisherMember, type PublisherRole } from './entity.ts'

type Identified = { id: string }
/** A permission check: resolves to true if the actor may perform the action on the publisher. */
export type PublisherRule = (em: EntityManager, actor: Actor, publisher: Identified) => Promise<boolean>

/** Admins of the publisher and server admins manage it. */
const isManager: PublisherRule = async (em, actor, publisher) =>
  isServerAdmin(actor) || (await roleIn(em, actor.viewer, publisher)) === 'admin'

/** Allows changing the publisher's details, managing its members and checking its domain. */
export const canAdministerPublisher: PublisherRule = async (em, actor, publisher) => mayWrite(actor) && isManager(em, actor, publisher)

/** Allows reading the publisher's activity log and the state of its domain check, with read-only credentials too. */
export const canSeeAdministration: PublisherRule = (em, actor, publisher) => isManager(em, actor, publisher)

/** Allows removing this member: for anyone who can manage members, and for the member itself. */
export const canRemoveMember =
  (userId: string): PublisherRule =>
  async (em, actor, publisher) =>
    (await canAdministerPublisher(em, actor, publisher)) ||
    (mayWrite(actor) && actor.viewer.id === userId && (await isMember(em, actor.viewer, publisher)))

/** Members and server admins can see the list of members. */
export const canSeeMembers: PublisherRule = async (em, actor, publisher) =>
  isServerAdmin(actor) || (await isMember(em, actor.viewer, publisher))
/** Members and server admins can also see the publisher's unlisted packages. */
export const canSeeUnlistedPackages: PublisherRule = (em, actor, publisher) => canSeeMembers(em, actor, publisher)

/** Only server admins can delete a publisher. (They also create publishers by name; users with publish rights claim a domain instead.) */
export const canDeletePublisher: PublisherRule = async (_em, actor) => isServerAdmin(actor)

/** Whether a user is a member. Only members can transfer packages to or from the publisher. */
export const isMember = async (em: EntityManager, viewer: Identified, publisher: Identified): Promise<boolean> =>
  (await roleIn(em, viewer, publisher)) !== null

export const roleIn = (em: EntityManager, viewer: Identified, publisher: Identified): Promise<PublisherRole | null> =>
  loadRole({ em }, `${publisher.id} ${viewer.id}`)

/** Loads roles by `<publisher id> <user id>`. */
const loadRole = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' ')).map(([publisher = '', user = '']) => ({ publisher, user }))
  const rows = await em.find(PublisherMember, { $or: pairs })
  return new Map(rows.map((row) => [`${row.publisher.id} ${row.user.id}`, row.role]))
})
