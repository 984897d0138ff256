import type { EntityManager } from '@mikro-orm/sql'
import type { Audience, PublicPackagesSwitch } from '../../platform/access/audience.ts'
import type { Config } from '../../platform/config/config.ts'
import { batched } from '../../platform/db/batched.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { readRow, readRows } from '../../platform/db/statements.ts'
import type { PublisherRole } from '../publishers/entity.ts'
import { roleIn } from '../publishers/policy.ts'
import { type Actor, allowedScopes, isServerAdmin, mayWrite, type Role } from '../../platform/access/roles.ts'
import type { Package, PackageVersion } from './entity.ts'
import { isHostedHere } from './hosting.ts'

// Visibility rules. Code that returns packages must apply one of the following conditions. They are forms of the rule in `canSee`.

/** Signed-in users can see every package; everyone else only public packages. */
export const canSee = (audience: Audience, { visibility }: Pick<Package, 'visibility'>): boolean =>
  audience === 'members' || visibility === 'public'

/** `canSee` as a filter for the entity manager. */
export const seenBy = (audience: Audience): { visibility?: 'public' } => (audience === 'members' ? {} : { visibility: 'public' })

/** `canSee` for the public audience as an SQL condition on the package table `alias`. */
export const isPublicPackage = (alias: string): string => `${alias}.visibility = 'public'`

/** SQL condition: the dependency `d` points here, and its package `q` (left-joined) is private or does not exist. Binds `hostedHere`. */
const isHiddenDependency = `${isHostedHere('d.hosted_url')} and (q.id is null or not ${isPublicPackage('q')})`

/** SQL condition: the version `alias` has a direct dependency that is hidden from the public. Binds `hostedHere`. */
const needsHidden = (alias: string): string =>
  `exists (select 1 from package_dependencies d left join packages q on q.name = d.name where d.version_id = ${alias}.id and d.kind = 'direct' and ${isHiddenDependency})`

/** SQL condition: the public can read a version of the package `alias`; otherwise, it looks nonexistent to them. Binds `hostedHere`. */
export const hasPublicVersion = (alias: string): string =>
  `(${isPublicPackage(alias)} and exists (select 1 from package_versions v where v.package_id = ${alias}.id and not ${needsHidden('v')}))`

/** SQL condition: the package `p` is public, and the public can read all of its versions. Binds `hostedHere`. */
export const isEntirelyPublic = `${isPublicPackage('p')} and not exists (select 1 from package_versions w where w.package_id = p.id and ${needsHidden('w')})`

/** Filter for lists, search, feeds and name completion. Unlisted packages remain available by name. */
export const listed = { isUnlisted: false }
/** `listed` as an SQL condition on the package table `alias`. */
export const listedSql = (alias: string): string => `not ${alias}.is_unlisted`

// Permissions. REST and GraphQL both apply these rules, and the `viewerCan…` fields return their results.

type Owned = { id: string; publisher?: { id: string } | null | undefined }
/** A permission check: resolves to true if the actor may perform the action on the package. */
export type PackageRule = (em: EntityManager, actor: Actor, pkg: Owned) => Promise<boolean>

/** Uploaders, all members of the owning publisher and server admins can publish versions, where manual publishing is allowed. */
export const hasPublishRight: PackageRule = async (em, actor, pkg) =>
  mayWrite(actor) && (isServerAdmin(actor) || (await isUploader(em, actor, pkg)) || (await roleInPublisher(em, actor, pkg)) !== null)

/** Allows publishing a version now: with the right to publish, unless the package or its publisher leaves publishing to CI jobs. */
export const canPublish = async (em: EntityManager, actor: Actor, pkg: Owned & ManualSwitch): Promise<boolean> =>
  (await hasPublishRight(em, actor, pkg)) &&
  findManualBan(pkg, pkg.publisher ? ((await loadAllowsManual({ em }, pkg.publisher.id)) ?? true) : true) === null

type ManualSwitch = Pick<Package, 'allowsManualPublishing'>

/** Returns whose switch leaves publishing to CI jobs; null if people can publish. */
export const findManualBan = ({ allowsManualPublishing }: ManualSwitch, publisherAllows: boolean): 'package' | 'publisher' | null =>
  !allowsManualPublishing ? 'package' : !publisherAllows ? 'publisher' : null

/** Whether an uploader or a member of the owning publisher can use that right: the account is active, and its role allows publishing. */
export const canUsePublishRight = ({ isActive, role }: { isActive: boolean; role: Role }): boolean =>
  isActive && allowedScopes(role).includes('write')

/** Uploaders, admins of the owning publisher and server admins manage the package. */
const isManager: PackageRule = async (em, actor, pkg) =>
  isServerAdmin(actor) || (await isUploader(em, actor, pkg)) || (await roleInPublisher(em, actor, pkg)) === 'admin'

/** Managers can administer the package if their credential has write access. */
export const canAdminister: PackageRule = async (em, actor, pkg) => mayWrite(actor) && isManager(em, actor, pkg)

export const canRetract: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
export const canChangeOptions: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
export const canManageUploaders: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
/** Allows reading the package's activity log, with read-only credentials too. */
export const canSeeActivity: PackageRule = (em, actor, pkg) => isManager(em, actor, pkg)
/** Allows previewing a change of visibility, with read-only credentials too. */
export const canPreviewVisibility: PackageRule = (em, actor, pkg) => isManager(em, actor, pkg)
/** Allows making the package public or private, unless the server reserves that for server admins (see `isVisibilityOpenTo`). */
export const canChangeVisibility: PackageRule = (em, actor, pkg) => canAdminister(em, actor, pkg)
/** Whether the server setting for public packages permits this actor to change visibility. The setting can restrict changes to server admins. */
export const isVisibilityOpenTo = (actor: Pick<Actor, 'scopes'>, { requiresServerAdmin }: PublicPackagesSwitch): boolean =>
  !requiresServerAdmin || isServerAdmin(actor)

/** Uploaders and server admins can transfer the package to or from a publisher. They must also be members of each publisher involved. */
export const canChoosePublisher: PackageRule = async (em, actor, pkg) =>
  mayWrite(actor) && (isServerAdmin(actor) || (await isUploader(em, actor, pkg)))

export const canDelete: PackageRule = async (_em, actor) => isServerAdmin(actor)

// Time limits for retracting and restoring versions.

type Retractable = Pick<PackageVersion, 'createdAt' | 'retractedAt'>
type Rules = Pick<Config, 'ENFORCE_RETRACTION_WINDOW'>

/** Number of days after publication during which a version can be retracted, and after retraction during which it can be restored. */
export const retractionDays = 7
const windowMs = retractionDays * 86_400_000

/** Returns the deadline for retracting a version; null if the version is already retracted or the server sets no limit. */
export function retractableUntil({ createdAt, retractedAt }: Retractable, { ENFORCE_RETRACTION_WINDOW }: Rules): Date | null {
  return retractedAt || !ENFORCE_RETRACTION_WINDOW ? null : new Date(createdAt.getTime() + windowMs)
}

/** Returns the deadline for restoring a retracted version; null if the version is not retracted or the server sets no limit. */
export function restorableUntil({ retractedAt }: Retractable, { ENFORCE_RETRACTION_WINDOW }: Rules): Date | null {
  return retractedAt && ENFORCE_RETRACTION_WINDOW ? new Date(retractedAt.getTime() + windowMs) : null
}

/** Whether a version is in a state that allows retraction at `now`. Does not check permissions. */
export const isRetractable = (version: Retractable, rules: Rules, now: Date): boolean =>
  !version.retractedAt && isOpen(retractableUntil(version, rules), now)

/** Whether a version is in a state that allows restoring at `now`. Does not check permissions. */
export const isRestorable = (version: Retractable, rules: Rules, now: Date): boolean =>
  version.retractedAt != null && isOpen(restorableUntil(version, rules), now)

const isOpen = (until: Date | null, now: Date) => until === null || now <= until

// Relations between a user and a package.

const isUploader: PackageRule = async (em, { viewer }, { id }) => (await loadIsUploader({ em }, `${id} ${viewer.id}`)) ?? false

/** Returns the user's role in the owning publisher; null if the user is not a member or no publisher owns the package. */
const roleInPublisher = async (em: EntityManager, { viewer }: Actor, { publisher }: Owned): Promise<PublisherRole | null> =>
  publisher ? roleIn(em, viewer, publisher) : null

/** Looks up whether publishers allow manual publishing. */
const loadAllowsManual = batched(async (em, ids) => {
  const rows = await readRows(em, db.selectFrom('publishers').select(['id', 'allows_manual_publishing']).where('id', 'in', ids))
  return new Map(rows.map((row) => [row.id, row.allows_manual_publishing]))
})

/** Looks up uploaders by `<package id> <user id>`. Batched, so that a list of packages needs one query. */
const loadIsUploader = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' '))
  const [[pkg = '', user = ''] = []] = pairs
  if (pairs.length === 1) return new Map((await readRow(em, uploaderOf, pkg, user)) ? [[`${pkg} ${user}`, true]] : [])
  const rows = await readRows(
    em,
    db
      .selectFrom('package_uploaders')
      .select(['package_id', 'user_id'])
      .where((eb) => eb.or(pairs.map(([pkg = '', user = '']) => eb.and([eb('package_id', '=', pkg), eb('user_id', '=', user)])))),
  )
  return new Map(rows.map((row) => [`${row.package_id} ${row.user_id}`, true]))
})

const uploaderOf = prepared((packageId: string, userId: string) =>
  db.selectFrom('package_uploaders').select('user_id').where('package_id', '=', packageId).where('user_id', '=', userId),
)
