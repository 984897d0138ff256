import { type AliasableExpression, type Expression, expressionBuilder, type SqlBool } from 'kysely'
import { db, type Tables } from '../../platform/db/query.ts'
import type { Visibility } from './entity.ts'

/** A condition of a query, for `where`. Conditions take references to columns (`eb.ref('p.visibility')`) and compose with `eb.and`, `eb.not` and so on. */
export type Condition = AliasableExpression<SqlBool>

/** The columns of a package that conditions of visibility refer to. */
type PackageColumns = { id: Expression<string>; visibility: Expression<Visibility> }

const eb = expressionBuilder<Tables>()

/** Whether a registry URL is the current address of this server (`hostedHere`) or a former one. */
export const isOwnAddress = (url: Expression<string | null>, here: string): Condition =>
  eb(
    url,
    'in',
    db.selectNoFrom(eb.cast<string>(eb.val(here), 'text').as('address')).unionAll(db.selectFrom('server_addresses').select('address')),
  )

/** Whether a package is listed (`listed`). An index contains exactly the packages with this condition. */
export const isListed = (isUnlisted: Expression<boolean>): Condition => eb.not(isUnlisted)

/** `canSee` for the public audience. */
export const isPublic = (visibility: Expression<Visibility>): Condition => eb(visibility, '=', 'public')

/** Whether a dependency points here (`here` is `hostedHere`), and its package (left-joined) is private or does not exist. */
export const isHidden = (
  url: Expression<string | null>,
  pkg: { id: Expression<string | null>; visibility: Expression<Visibility | null> },
  here: string,
): Condition => eb.and([isOwnAddress(url, here), eb.or([eb(pkg.id, 'is', null), eb(pkg.visibility, '<>', 'public')])])

/** Whether a dependency is on this server, which may also be the default registry of clients. */
export const isDependencyHere = (
  { sdk, url }: { sdk: Expression<string | null>; url: Expression<string | null> },
  here: string,
): Condition => eb.and([eb(sdk, 'is', null), eb.or([eb(url, 'is', null), isOwnAddress(url, here)])])

/** Whether a version has a direct dependency that is hidden from the public. */
export const needsHiddenPackage = (versionId: Expression<string>, here: string): Condition =>
  eb.exists(
    db
      .selectFrom('package_dependencies as d')
      .leftJoin('packages as q', 'q.name', 'd.name')
      .select(eb.lit(1).as('one'))
      .where('d.version_id', '=', versionId)
      .where('d.kind', '=', 'direct')
      .where((inner) => isHidden(inner.ref('d.hosted_url'), { id: inner.ref('q.id'), visibility: inner.ref('q.visibility') }, here)),
  )

/** Whether the public can read a version: its package is public, and no direct dependency is hidden. */
export const isVersionPublic = (visibility: Expression<Visibility>, versionId: Expression<string>, here: string): Condition =>
  eb.and([isPublic(visibility), eb.not(needsHiddenPackage(versionId, here))])

/** Whether the public can read a version of a package. Otherwise, the package looks nonexistent to them. */
export const isPartlyPublic = ({ id, visibility }: PackageColumns, here: string): Condition =>
  eb.and([isPublic(visibility), existsVersion(id, (version) => eb.not(needsHiddenPackage(version, here)))])

const existsVersion = (packageId: Expression<string>, where: (versionId: Expression<string>) => Condition): Condition =>
  eb.exists(
    db
      .selectFrom('package_versions as w')
      .select(eb.lit(1).as('one'))
      .where('w.package_id', '=', packageId)
      .where((inner) => where(inner.ref('w.id'))),
  )

/** Whether a user can publish to a package as an uploader or as a member of its publisher. */
export const isPublisherOf = (
  userId: string | Expression<string>,
  pkg: { id: Expression<string>; publisherId: Expression<string | null> },
): Condition =>
  eb.or([
    eb(pkg.id, 'in', db.selectFrom('package_uploaders').select('package_id').where('user_id', '=', userId)),
    eb(pkg.publisherId, 'in', db.selectFrom('publisher_members').select('publisher_id').where('user_id', '=', userId)),
  ])

/** `isPublisherOf` for users with many packages, as a condition that is checked package by package. */
export const isPublisherOfEach = (userId: string, pkg: { id: Expression<string>; publisherId: Expression<string | null> }): Condition =>
  eb.or([
    eb.exists(
      db
        .selectFrom('package_uploaders as pu')
        .select(eb.lit(1).as('one'))
        .where('pu.package_id', '=', pkg.id)
        .where('pu.user_id', '=', userId),
    ),
    eb.exists(
      db
        .selectFrom('publisher_members as pm')
        .select(eb.lit(1).as('one'))
        .where((inner) => inner(pkg.publisherId, '=', inner.ref('pm.publisher_id')))
        .where('pm.user_id', '=', userId),
    ),
  ])
