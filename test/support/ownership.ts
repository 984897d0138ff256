import { Package } from '../../server/registry/packages/entity.ts'
import { Publisher, PublisherMember } from '../../server/registry/publishers/entity.ts'
import { User } from '../../server/accounts/users/entity.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'

/** Assigns a package directly in the database to a new publisher with an admin and a member. */
export async function makeOwned(app: TestApp, name: string, id = 'acme-corp'): Promise<{ admin: Actor; member: Actor }> {
  const [admin, member] = [await app.member(), await app.member()]
  const em = app.services.database.fork()
  const publisher = em.create(Publisher, { id, displayName: id, createdAt: app.services.now() })
  for (const [actor, role] of [[admin, 'admin'] as const, [member, 'member'] as const])
    em.create(PublisherMember, { publisher, user: em.getReference(User, actor.id), role, createdAt: app.services.now() })
  const pkg = await em.findOneOrFail(Package, { name })
  pkg.publisher = publisher
  await em.flush()
  return { admin, member }
}
