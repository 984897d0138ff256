import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../db/batched.ts'
import type { PublisherRole } from '../publishers/entity.ts'
import { roleIn } from '../publishers/policy.ts'
import { type Actor, isServerAdmin } from '../roles/viewer.ts'
import { type Package, PackageUploader } from './entity.ts'

type Owned = Pick<Package, 'id' | 'publisher'>

/** Whoever may add versions: a named uploader, any member of the owning publisher, or a server admin. The scope `write` is asked for at the door. */
export async function canPublish(em: EntityManager, actor: Actor, pkg: Owned): Promise<boolean> {
  return isServerAdmin(actor) || (await isUploader(em, actor, pkg)) || (await roleInOwner(em, actor, pkg)) !== null
}

/** Whoever may change a package: a named uploader, an admin of the owning publisher, or a server admin. */
export async function canAdminister(em: EntityManager, actor: Actor, pkg: Owned): Promise<boolean> {
  return isServerAdmin(actor) || (await isUploader(em, actor, pkg)) || (await roleInOwner(em, actor, pkg)) === 'admin'
}

/** Whether the person is named as an uploader. */
export async function isUploader(em: EntityManager, { viewer }: Actor, pkg: Owned): Promise<boolean> {
  return (await loadNaming({ em }, `${pkg.id} ${viewer.id}`)) ?? false
}

/** What the person is in the publisher that owns the package; null for nothing, and when none does. */
async function roleInOwner(em: EntityManager, { viewer }: Actor, { publisher }: Owned): Promise<PublisherRole | null> {
  return publisher ? roleIn(em, viewer, publisher) : null
}

/** By package and person, for lists ask it of each of their packages. */
const loadNaming = batched(async (em, keys) => {
  const rows = await em.find(PackageUploader, { $or: pairsOf(keys).map(([pkg, user]) => ({ package: pkg, user })) })
  return new Map(rows.map((row) => [`${row.package.id} ${row.user.id}`, true]))
})

const pairsOf = (keys: string[]) => keys.map((key) => key.split(' ')).map(([object = '', user = '']) => [object, user] as const)
