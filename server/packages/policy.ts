import type { EntityManager } from '@mikro-orm/sql'
import type { Audience } from '../access/audience.ts'
import type { PublicPackagesSwitch } from '../access/browsing.ts'
import type { Config } from '../config/config.ts'
import { batched } from '../db/batched.ts'
import { readRows } from '../db/statements.ts'
import type { PublisherRole } from '../publishers/entity.ts'
import { roleIn } from '../publishers/policy.ts'
import { type Actor, isServerAdmin, mayWrite } from '../roles/viewer.ts'
import type { Package, PackageVersion } from './entity.ts'
import { isHostedHere } from './hosting/hosted-here.ts'

// Who sees a package. Whatever shows packages uses one of the forms of this one rule.

/** People who signed in see every package, anybody else public ones. */
export const canSee = (audience: Audience, { visibility }: Pick<Package, 'visibility'>): boolean =>
  audience === 'members' || visibility === 'public'

/** The same as a condition for the entity manager. */
export const seenBy = (audience: Audience): { visibility?: 'public' } => (audience === 'members' ? {} : { visibility: 'public' })

/** SQL: whether anybody sees the package with this alias. */
export const isPublicPackage = (alias: string): string => `${alias}.visibility = 'public'`

/** SQL: whether the dependency `d`, on the package `q` if there is one, is on this server and hidden from anybody: private, or not there; the two look alike. Takes `hostedHere`. */
export const isHiddenDependency = `${isHostedHere('d.hosted_url')} and (q.id is null or not ${isPublicPackage('q')})`

/** SQL: whether the version with this alias needs what is hidden from anybody. Takes `hostedHere`. */
const needsHidden = (alias: string): string =>
  `exists (select 1 from package_dependencies d left join packages q on q.name = d.name where d.version_id = ${alias}.id and d.kind = 'direct' and ${isHiddenDependency})`

/** SQL: whether anybody sees the version `v` of the package `p`: not when it needs what is hidden from them. Takes `hostedHere`. */
export const isPublicVersion = `${isPublicPackage('p')} and not ${needsHidden('v')}`

/**
 * SQL: whether anybody finds something to read of the package with this alias: it is public, and not all of its versions need what is hidden from
 * them. Else it is to them as if it were not there. Takes `hostedHere`.
 */
export const hasPublicVersion = (alias: string): string =>
  `(${isPublicPackage(alias)} and exists (select 1 from package_versions v where v.package_id = ${alias}.id and not ${needsHidden('v')}))`

/** SQL: whether anybody may read the package `p` and every version of it: none needs what is hidden from them. Takes `hostedHere`. */
export const isEntirelyPublic = `${isPublicPackage('p')} and not exists (select 1 from package_versions w where w.package_id = p.id and ${needsHidden('w')})`

/** What lists, search, feeds and name completion show; whoever knows the name of an unlisted package finds it. */
export const listed = { isUnlisted: false }
/** SQL: the same of the package with this alias. */
export const isListed = (alias: string): string => `not ${alias}.is_unlisted`

// Who does what with a package. REST and GraphQL both apply these rules, and the `viewerCan…` fields show what they say.

type Owned = { id: string; publisher?: { id: string } | null | undefined }
/** Whether the caller may do something with a package. */
export type PackageRule = (em: EntityManager, actor: Actor, pkg: Owned) => Promise<boolean>

/** Its uploaders, every member of the publisher that owns it, and server admins publish versions. */
export const canPublish: PackageRule = async (em, actor, pkg) =>
  mayWrite(actor) && (isServerAdmin(actor) || (await isUploader(em, actor, pkg)) || (await roleInPublisher(em, actor, pkg)) !== null)

/** SQL: whether a person, named twice, publishes the package with this alias as an uploader or as a member of its publisher. */
export const isPublishedBy = (alias: string): string =>
  `(${alias}.id in (select package_id from package_uploaders where user_id = ?)
    or ${alias}.publisher_id in (select publisher_id from publisher_members where user_id = ?))`

/** Its uploaders, the admins of the publisher that owns it, and server admins look after it. */
const looksAfter: PackageRule = async (em, actor, pkg) =>
  isServerAdmin(actor) || (await isUploader(em, actor, pkg)) || (await roleInPublisher(em, actor, pkg)) === 'admin'

/** Whoever looks after it administers it, with a credential that may write. */
export const canAdminister: PackageRule = async (em, actor, pkg) => mayWrite(actor) && looksAfter(em, actor, pkg)

/** Retracts its versions, and restores them, while the window below is open. */
export const canRetract: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
/** Discontinues it, names a replacement, and takes it off the lists. */
export const canChangeOptions: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
/** Names its uploaders, and takes them off. */
export const canNameUploaders: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
/** Sees what happened to it; also with a credential that only reads. */
export const canSeeActivity: PackageRule = (em, actor, pkg) => looksAfter(em, actor, pkg)
/** Sees what a change of its visibility would do; also with a credential that only reads. */
export const canPreviewVisibility: PackageRule = (em, actor, pkg) => looksAfter(em, actor, pkg)
/** Makes it public or private, where the server leaves that to them. */
export const canChangeVisibility: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
/** Whether it does: the switch for public packages may keep changes of visibility for server admins. */
export const isVisibilityOpenTo = (actor: Pick<Actor, 'scopes'>, { requiresServerAdmin }: PublicPackagesSwitch): boolean =>
  !requiresServerAdmin || isServerAdmin(actor)

/** Its uploaders and server admins give it to a publisher, or take it back. They must be members of each publisher that is concerned. */
export const canChoosePublisher: PackageRule = async (em, actor, pkg) =>
  mayWrite(actor) && (isServerAdmin(actor) || (await isUploader(em, actor, pkg)))

/** Server admins delete it, and its versions. */
export const canDelete: PackageRule = async (_em, actor) => isServerAdmin(actor)

// When a version is retracted and restored.

type Retractable = Pick<PackageVersion, 'createdAt' | 'retractedAt'>
type Rules = Pick<Config, 'ENFORCE_RETRACTION_WINDOW'>

/** For so long after its publication a version can be retracted, and for so long after that restored. */
export const retractionDays = 7
const windowMs = retractionDays * 86_400_000

/** The last moment to retract a version; null when it is retracted already, and when the server sets no limit. */
export function retractableUntil({ createdAt, retractedAt }: Retractable, { ENFORCE_RETRACTION_WINDOW }: Rules): Date | null {
  return retractedAt || !ENFORCE_RETRACTION_WINDOW ? null : new Date(createdAt.getTime() + windowMs)
}

/** The last moment to restore a retracted version; null when it is not retracted, and when the server sets no limit. */
export function restorableUntil({ retractedAt }: Retractable, { ENFORCE_RETRACTION_WINDOW }: Rules): Date | null {
  return retractedAt && ENFORCE_RETRACTION_WINDOW ? new Date(retractedAt.getTime() + windowMs) : null
}

/** Whether a version can be retracted at this moment, by whoever may. */
export const isRetractable = (version: Retractable, rules: Rules, now: Date): boolean =>
  !version.retractedAt && isOpen(retractableUntil(version, rules), now)

/** Whether a version can be restored at this moment, by whoever may. */
export const isRestorable = (version: Retractable, rules: Rules, now: Date): boolean =>
  version.retractedAt != null && isOpen(restorableUntil(version, rules), now)

const isOpen = (until: Date | null, now: Date) => until === null || now <= until

// Who somebody is to a package.

/** Whether the person is named as an uploader. */
const isUploader: PackageRule = async (em, { viewer }, { id }) => (await loadNaming({ em }, `${id} ${viewer.id}`)) ?? false

/** What the person is in the publisher that owns the package; null for nothing, and when none does. */
const roleInPublisher = async (em: EntityManager, { viewer }: Actor, { publisher }: Owned): Promise<PublisherRole | null> =>
  publisher ? roleIn(em, viewer, publisher) : null

/** By package and person, so that a list checks all of its packages by one query. */
const loadNaming = batched(async (em, keys) => {
  const isPair = keys.map(() => '(package_id = ? and user_id = ?)').join(' or ')
  const rows = await readRows<{ package_id: string; user_id: string }>(
    em,
    `select package_id, user_id from package_uploaders where ${isPair}`,
    keys.flatMap((key) => key.split(' ')),
  )
  return new Map(rows.map((row) => [`${row.package_id} ${row.user_id}`, true]))
})
