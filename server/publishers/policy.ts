import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../db/batched.ts'
import { type Actor, isServerAdmin } from '../roles/viewer.ts'
import { PublisherMember, type PublisherRole } from './entity.ts'

type Identified = { id: string }

/** What somebody is in a publisher now; null for nothing. */
export const roleIn = (em: EntityManager, viewer: Identified, publisher: Identified): Promise<PublisherRole | null> =>
  loadRole({ em }, `${publisher.id} ${viewer.id}`)

/** Whoever may change a publisher and its members: one of its admins, or a server admin. */
export const canAdministerPublisher = async (em: EntityManager, actor: Actor, publisher: Identified): Promise<boolean> =>
  isServerAdmin(actor) || (await roleIn(em, actor.viewer, publisher)) === 'admin'

/** Whoever may see who the members are: the members, and server admins. */
export const canSeeMembers = async (em: EntityManager, actor: Actor, publisher: Identified): Promise<boolean> =>
  isServerAdmin(actor) || (await roleIn(em, actor.viewer, publisher)) !== null

/** By publisher and person. */
const loadRole = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' ')).map(([publisher = '', user = '']) => ({ publisher, user }))
  const rows = await em.find(PublisherMember, { $or: pairs })
  return new Map(rows.map((row) => [`${row.publisher.id} ${row.user.id}`, row.role]))
})
