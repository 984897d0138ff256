import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import type { MembershipSync } from '../../accounts/providers/groups.ts'
import { User } from '../../accounts/users/entity.ts'
import { PublisherMember, type PublisherRole } from './entity.ts'
import { hasAnotherAdmin } from './members.ts'
import { findAndLockPublisher } from './service.ts'

/** Returns the role that follows from the role given by hand and the role given by groups. */
export const effectiveRole = (manual: PublisherRole | null, mapped: PublisherRole | null): PublisherRole =>
  manual === 'admin' || mapped === 'admin' ? 'admin' : 'member'

/** Returns the role of a member that was given by hand; null if only groups give the membership. */
export const manualRoleOf = ({ role, mappedRole, manualRole }: PublisherMember): PublisherRole | null =>
  mappedRole === null || mappedRole === undefined ? role : (manualRole ?? null)

/**
 * Gives a user the memberships that groups give, and takes them again once they no longer do. What was given by hand stays. The last admin of a publisher
 * stays its admin.
 */
export const syncMemberships: MembershipSync = async (em, user, memberships, { ip, now }) => {
  const current = await em.find(PublisherMember, { user: user.id, mappedRole: { $ne: null } }, { refresh: true })
  const ids = new Set([...memberships.keys(), ...current.map(({ publisher }) => publisher.id)])
  // In the order of their ids, so that concurrent sign-ins do not wait for each other.
  for (const id of [...ids].toSorted()) await syncOne(em, { user, id, mapped: memberships.get(id) ?? null, ip, now })
}

type Change = { user: { id: string; displayName: string }; id: string; mapped: PublisherRole | null; ip: string; now: Date }

async function syncOne(em: EntityManager, { user, id, mapped, ip, now }: Change): Promise<void> {
  const publisher = await findAndLockPublisher(em, id)
  if (!publisher) return
  const member = await em.findOne(PublisherMember, { publisher: id, user: user.id }, { refresh: true })
  const record = (kind: 'member_added' | 'member_updated' | 'member_removed', did: string) =>
    audit(em, { kind: `publisher.${kind}`, actor: user, user, publisher: id, summary: `The groups of ${user.displayName} ${did}`, ip })
  if (!member) {
    if (mapped === null) return
    em.create(PublisherMember, { publisher, user: em.getReference(User, user.id), role: mapped, mappedRole: mapped, createdAt: now })
    return record('member_added', `gave the role ${mapped} in ${id}`)
  }
  const manual = manualRoleOf(member)
  const role = manual === null && mapped === null ? null : effectiveRole(manual, mapped)
  if (
    member.role === 'admin' &&
    role !== 'admin' &&
    !(await hasAnotherAdmin(em, publisher, await em.findOneOrFail(User, user.id, { populate: ['passwordHash'] })))
  )
    return
  if (role === null) {
    em.remove(member)
    return record('member_removed', `no longer give a role in ${id}`)
  }
  const changed = member.role !== role
  Object.assign(member, { role, mappedRole: mapped, manualRole: mapped === null ? null : manual })
  if (changed) record('member_updated', `gave the role ${role} in ${id}`)
}
