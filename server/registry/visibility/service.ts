import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { sql } from 'kysely'
import { audit } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { conflict, insufficientPermissions, invalidInput } from '../../errors.ts'
import { readEach } from '../../platform/db/batched.ts'
import { describeChains, publicDependents, shortestPaths, type Chain } from '../packages/dependents/breakage.ts'
import { changePackage, unchanged } from '../packages/change-package.ts'
import { Package, type Visibility } from '../packages/entity.ts'
import { unknownPackage } from '../packages/parameters.ts'
import { canChangeVisibility, isVisibilityOpenTo } from '../packages/policy.ts'
import { readSetting } from '../../platform/settings/service.ts'
import { type Actor, adviceForAdmin } from '../../platform/access/roles.ts'
import { publicPackagesSwitch } from '../../platform/access/audience.ts'
import { isOwnAddress } from '../packages/conditions.ts'
import { type Here, hostedHere } from '../packages/hosting.ts'
import { db } from '../../platform/db/query.ts'

export type VisibilityChange = {
  package: string
  visibility: Visibility
  /** The name of the package again, as confirmation. */
  confirm: string
  /** When making the package public: exactly the private dependencies that must become public too. */
  closure?: readonly string[] | null | undefined
  /** When making the package private: whether to proceed even if that breaks public packages. */
  acceptBreakage?: boolean | null | undefined
}

/**
 * Makes a package public or private and returns the names of all changed packages. Takes effect with the next request.
 * @throws ApiError InvalidInput without the name as confirmation; NotFound; InsufficientPermissions; Conflict, listing the dependencies that must
 *   become public too, or the public packages that would break.
 */
export async function changeVisibility(context: SignedInContext, change: VisibilityChange): Promise<string[]> {
  if (change.confirm !== change.package) {
    throw invalidInput(`confirm: must be the name of the package, ${change.package.slice(0, 64)}.`, 'confirm')
  }
  if (!isVisibilityOpenTo(context, await readSetting(context.database.reads, publicPackagesSwitch))) {
    throw insufficientPermissions(
      'On this server only administrators can make packages public or private. Ask one of them.' + adviceForAdmin(context),
    )
  }
  return change.visibility === 'public' ? makePublic(context, change) : makePrivate(context, change)
}

async function makePrivate(context: SignedInContext, { package: name, acceptBreakage }: VisibilityChange): Promise<string[]> {
  return changePackage(context, name, canChangeVisibility, async (em, pkg) => {
    if (pkg.visibility === 'private') return unchanged([])
    const broken = await publicDependents({ em, config: context.config }, [name])
    if (broken.length > 0 && !acceptBreakage) {
      throw conflict(
        `Public packages depend on ${name}: ${describeChains(broken)}. Make them private first, or accept that they break (acceptBreakage: true).`,
      )
    }
    pkg.visibility = 'private'
    return record(em, context, [pkg], 'private')
  })
}

async function makePublic(context: SignedInContext, change: VisibilityChange): Promise<string[]> {
  for (let attemptsLeft = 5; attemptsLeft > 0; attemptsLeft--) {
    const changed = await context.em.fork().transactional((em) => makePublicWithin(em, context, change))
    if (changed) return changed
  }
  throw conflict(`The dependencies of ${change.package} are being changed at the same time. Try again.`)
}

/** Locks the package and its dependencies by name, so that none becomes private. Returns null, for a retry, if one was added before. */
async function makePublicWithin(em: EntityManager, context: SignedInContext, change: VisibilityChange): Promise<string[] | null> {
  const { config } = context
  const name = change.package
  const expected = new Set([name, ...(await closureOf(em, config, name)).reached])
  const locked = await em.find(
    Package,
    { name: { $in: [...expected] } },
    { orderBy: { name: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  )
  const pkg = locked.find((one) => one.name === name)
  if (!pkg) throw unknownPackage(name)
  if (!(await canChangeVisibility(em, context, pkg))) throw notAllowed(context, [name])
  const { reached, companions } = await closureOf(em, config, name)
  if (!reached.every((one) => expected.has(one))) return null
  // The change was already made, for example by a client that retries after losing the response.
  if (pkg.visibility === 'public' && companions.length === 0 && (await areAllPublic(em, change.closure ?? []))) return []
  requireExactClosure(companions, change)
  const companionPackages = locked.filter((one) => companions.some((companion) => companion.name === one.name))
  const rights = await Promise.all(companionPackages.map((one) => canChangeVisibility(em, context, one)))
  const foreign = companionPackages.filter((_, index) => !rights[index])
  if (foreign.length > 0)
    throw notAllowed(
      context,
      foreign.map((one) => one.name),
    )
  const changing = pkg.visibility === 'public' ? companionPackages : [pkg, ...companionPackages]
  for (const one of changing) Object.assign(one, { visibility: 'public', revision: one.revision + 1, updatedAt: context.now() })
  await em.flush()
  return record(em, context, changing, 'public')
}

const areAllPublic = async (em: EntityManager, names: readonly string[]): Promise<boolean> =>
  (await em.count(Package, { name: { $in: [...names] }, visibility: 'public' })) === new Set(names).size

/** Throws Conflict unless the caller named exactly the private packages that must become public too. */
function requireExactClosure(companions: { name: string; chain: string[] }[], { package: name, closure }: VisibilityChange): void {
  const wanted = new Set(closure)
  if (companions.length === wanted.size && companions.every((one) => wanted.has(one.name))) return
  throw conflict(
    companions.length > 0
      ? `${name} depends on private packages of this server, which must become public too: ${describeChains(companions.map(({ chain }) => chain))}. List exactly these in closure: ${companions.map((one) => one.name).join(', ')}.`
      : `${name} does not depend on private packages of this server. Leave closure empty.`,
  )
}

const notAllowed = (actor: Actor, names: string[]) =>
  insufficientPermissions(
    `You do not administer ${names.join(', ')}. Ask an uploader, or an admin of the publisher.${adviceForAdmin(actor)}`,
  )

/** Writes audit entries, updates search and requests new analyses. Returns the names of the packages. */
async function record(em: EntityManager, context: SignedInContext, packages: Package[], visibility: Visibility): Promise<string[]> {
  const { viewer, ip } = context
  for (const pkg of packages) {
    const summary = `${viewer.displayName} made ${pkg.name} ${visibility}`
    audit(em, { kind: 'package.visibility_changed', actor: viewer, summary, package: pkg.name, ip })
  }
  await em.flush()
  await context.afterPackageChange(em, { kind: 'visibility', packages }, context)
  return packages.map(({ name }) => name)
}

export type Closure = {
  /** Names of all packages that any version depends on, directly or transitively, public or private, in order. */
  reached: string[]
  /** The private packages in `reached`, each with a shortest dependency chain, ordered by name. They must become public together with the package. */
  companions: { name: string; chain: Chain }[]
}

/** Returns the transitive `hosted:` dependencies here of all versions of a package. One recursive statement, which ends on cycles. Batched per request. */
export async function closureOf(em: EntityManager, here: Here, name: string): Promise<Closure> {
  const edges = await readEach(em, { query: edgesFrom(name, hostedHere(here)), order: 'dependent, dependency' })
  const chains = shortestPaths(
    [name],
    edges.map(({ dependent, dependency }) => [dependent, dependency]),
  )
  const visibilities = new Map(edges.map(({ dependency, visibility }) => [dependency, visibility]))
  const reached = [...chains.keys()].filter((one) => one !== name).sort()
  const companions = reached
    .filter((one) => visibilities.get(one) === 'private')
    .map((one) => ({ name: one, chain: chains.get(one) ?? [] }))
  return { reached, companions }
}

/** Selects the dependencies that lead from a package to others of this server. */
function edgesFrom(name: string, hosted: string) {
  return db
    .withRecursive('edges(id, name, dependent, visibility)', (query) =>
      query
        .selectFrom('packages as n')
        .innerJoin('package_requirements as r', 'r.package_id', 'n.id')
        .innerJoin('packages as q', 'q.name', 'r.name')
        .where('n.name', '=', name)
        .where('r.kind', '=', sql.lit('direct'))
        .where((eb) => isOwnAddress(eb.ref('r.source'), hosted))
        .select(['q.id', 'q.name', 'n.name as dependent', 'q.visibility'])
        .union(
          query
            .selectFrom('edges as e')
            .innerJoin('package_requirements as r', 'r.package_id', 'e.id')
            .innerJoin('packages as q', 'q.name', 'r.name')
            .where('r.kind', '=', sql.lit('direct'))
            .where((eb) => isOwnAddress(eb.ref('r.source'), hosted))
            .select(['q.id', 'q.name', 'e.name as dependent', 'q.visibility']),
        ),
    )
    .selectFrom('edges')
    .select(['dependent', 'name as dependency', 'visibility'])
    .orderBy('dependent')
    .orderBy('name')
}
