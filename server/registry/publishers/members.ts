import { ForeignKeyConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { invalidInput, notFound } from '../../errors.ts'
import { User } from '../../accounts/users/entity.ts'
import { emailKey } from '../../accounts/users/input.ts'
import { hasAccepted } from '../../accounts/users/policy.ts'
import { limitLookups, requirePerson } from '../../accounts/users/service.ts'
import { type Publisher, PublisherMember, type PublisherRole } from './entity.ts'
import { canAdministerPublisher, canRemoveMember } from './policy.ts'
import { changePublisher, record } from './service.ts'

export type Membership = PublisherMember & { user: User }
/** A user, by id or by exact e-mail address. The address is for callers who cannot list accounts. */
export type PersonKey = { id: string } | { email: string }

/**
 * Adds a user to a publisher, or changes the role of a member.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict for a service account; InvalidInput if no admin would remain; RateLimitExceeded after too many unknown addresses.
 */
export async function setMember(context: SignedInContext, id: string, person: PersonKey, role: PublisherRole): Promise<Membership> {
  const change = () =>
    changePublisher(context, id, canAdministerPublisher, async (em, publisher) => {
      const user = await findPerson(em, person)
      requirePerson(user)
      const member = await em.findOne(PublisherMember, { publisher, user })
      if (!member) {
        const added = em.create(PublisherMember, { publisher, user, role, createdAt: context.now() })
        record(em, context, publisher, 'member_added', `added ${user.displayName} to ${id} as ${role}`, user)
        return added
      }
      // Groups of a provider may give a higher role.
      const effective = member.mappedRole === 'admin' ? 'admin' : role
      if (member.mappedRole != null) member.manualRole = role
      if (member.role !== effective) {
        if (member.role === 'admin') await requireAnotherAdmin(em, publisher, user)
        member.role = effective
        record(em, context, publisher, 'member_updated', `made ${user.displayName} ${role} of ${id}`, user)
      }
      return member
    })
  return ('email' in person ? limitLookups(context, change) : change()).catch((error: unknown) => {
    // The account was deleted concurrently.
    throw error instanceof ForeignKeyConstraintViolationException ? unknownUser(person) : error
  })
}

/**
 * Removes a member from a publisher. Members can always remove themselves.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict for a service account; InvalidInput if no admin would remain.
 */
export function removeMember(context: SignedInContext, id: string, userId: string): Promise<Publisher> {
  const leaves = userId === context.viewer.id
  return changePublisher(context, id, canRemoveMember(userId), async (em, publisher) => {
    const member = await em.findOne(PublisherMember, { publisher, user: userId }, { populate: ['user.passwordHash'] })
    if (!member) throw notFound(`${leaves ? 'You are' : 'This person is'} not a member of ${id}.`)
    const user = member.user as User
    requirePerson(user)
    if (member.role === 'admin') await requireAnotherAdmin(em, publisher, user)
    record(em, context, publisher, 'member_removed', leaves ? `left ${id}` : `removed ${user.displayName} from ${id}`, user)
    em.remove(member)
    return publisher
  })
}

async function findPerson(em: EntityManager, person: PersonKey): Promise<User> {
  const key = 'id' in person ? { id: person.id } : { emailKey: emailKey(person.email) }
  const user = await em.findOne(User, key, { populate: ['passwordHash'] })
  if (!user) throw unknownUser(person)
  return user
}

const unknownUser = (person: PersonKey) =>
  notFound(`There is no user with this ${'id' in person ? 'id' : 'e-mail address'}. Ask an administrator to create the account first.`)

/** Throws InvalidInput unless another admin remains, who must be able to sign in if the leaving admin can. */
async function requireAnotherAdmin(em: EntityManager, publisher: Publisher, leaving: User): Promise<void> {
  const others = await otherAdmins(em, publisher, leaving)
  if (suffices(others, leaving)) return
  throw invalidInput(
    `${leaving.displayName} is the last ${others.length ? 'active ' : ''}admin of ${publisher.id}. Make another member an admin first.`,
  )
}

/** Returns whether an admin remains who can sign in if the leaving one can. */
export const hasAnotherAdmin = async (em: EntityManager, publisher: Publisher, leaving: User): Promise<boolean> =>
  suffices(await otherAdmins(em, publisher, leaving), leaving)

function otherAdmins(em: EntityManager, publisher: Publisher, leaving: User): Promise<Membership[]> {
  const where = { publisher, role: 'admin', user: { id: { $ne: leaving.id }, kind: 'person' } } as const
  return em.find(PublisherMember, where, { populate: ['user.passwordHash'] }) as Promise<Membership[]>
}

const suffices = (others: Membership[], leaving: User): boolean =>
  others.length > 0 && (!canSignIn(leaving) || others.some(({ user }) => canSignIn(user)))

/** Whether the user can sign in: not before they have accepted their invitation. */
const canSignIn = (user: User): boolean => user.isActive && hasAccepted(user)
