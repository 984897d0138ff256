import type { EntityManager } from '@mikro-orm/sql'
import type { Audience } from '../access/audience.ts'
import { batched } from '../db/batched.ts'
import { readRows } from '../db/statements.ts'
import type { PublisherRole } from '../publishers/entity.ts'
import { roleIn } from '../publishers/policy.ts'
import { type Actor, isServerAdmin } from '../roles/viewer.ts'
import type { Package } from './entity.ts'
import { isHostedHere } from './hosted-here.ts'

// Who sees a package. Whatever shows packages asks for one of the forms of this one rule.

/** People who signed in see every package, anybody else public ones. */
export const canSee = (audience: Audience, { visibility }: Pick<Package, 'visibility'>): boolean =>
  audience === 'members' || visibility === 'public'

/** The same as a condition for the entity manager. */
export const seenBy = (audience: Audience): { visibility?: 'public' } => (audience === 'members' ? {} : { visibility: 'public' })

/** SQL: whether anybody sees the package with this alias. */
export const seenByAnybody = (alias: string): string => `${alias}.visibility = 'public'`

/** SQL: whether the dependency `d`, on the package `q` if there is one, is on this server and hidden from anybody: private, or not there; the two look alike. Takes `hostedHere`. */
export const isHiddenDependency = `${isHostedHere('d.hosted_url')} and (q.id is null or not ${seenByAnybody('q')})`

/** SQL: whether anybody sees the version `v` of the package `p`: not when it needs what is hidden from them. Takes `hostedHere`. */
export const isVersionSeenByAnybody = `${seenByAnybody('p')} and not exists (select 1 from package_dependencies d left join packages q on q.name = d.name where d.version_id = v.id and d.kind = 'direct' and ${isHiddenDependency})`

/** What lists, search, feeds and name completion show; whoever knows the name of an unlisted package finds it. */
export const listed = { isUnlisted: false }
/** SQL: the same of the package with this alias. */
export const isListed = (alias: string): string => `not ${alias}.is_unlisted`

type Owned = { id: string; publisher?: { id: string } | null | undefined }

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
  const isPair = keys.map(() => '(package_id = ? and user_id = ?)').join(' or ')
  const rows = await readRows<{ package_id: string; user_id: string }>(
    em,
    `select package_id, user_id from package_uploaders where ${isPair}`,
    keys.flatMap((key) => key.split(' ')),
  )
  return new Map(rows.map((row) => [`${row.package_id} ${row.user_id}`, true]))
})
