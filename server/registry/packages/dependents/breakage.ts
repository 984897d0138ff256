import type { EntityManager } from '@mikro-orm/sql'
import { type Here, hostedHere, isHostedHere } from '../hosting.ts'
import { isPublicPackage } from '../policy.ts'
import { allows, parseConstraint } from '../../../platform/pub/constraint.ts'
import type { Dependent } from './service.ts'
import type { Visibility } from '../entity.ts'

/** Package names from the package that breaks to its broken dependency, such as `['app', 'ui', 'icons']`. */
export type Chain = string[]

/**
 * Returns the public packages that depend on any of `names` by `hosted:` dependencies of any version, directly or through other public packages,
 * each with a shortest chain, ordered by name. Uses one recursive statement, which also terminates on cycles.
 */
export async function publicDependents(em: EntityManager, here: Here, names: readonly string[]): Promise<Chain[]> {
  return chainsTo(await publicEdges(em, here, names), names)
}

/** Like `publicDependents`, but only packages whose constraint no other version satisfies that is not retracted. */
export async function dependentsOfVersion(em: EntityManager, here: Here, name: string, version: string): Promise<Chain[]> {
  const edges = await publicEdges(em, here, [name])
  if (edges.length === 0) return []
  const effectOn = await effectOfDeletion(em, name, version)
  const stated: { dependent: string; constraint: string }[] = await em.execute(
    `select distinct p.name as dependent, d."constraint" from package_dependencies d ${ofPublic} where d.name = ? and ${statedHere}`,
    [name, hostedHere(here)],
  )
  const broken = new Set(stated.filter((one) => effectOn(one.constraint) === 'broken').map(({ dependent }) => dependent))
  return chainsTo(
    edges.filter((edge) => edge.dependency !== name || broken.has(edge.dependent)),
    [name],
  )
}

/** Formats chains for messages, such as `app -> ui -> icons, shop -> icons`. Lists at most 20. */
export function describeChains(chains: readonly Chain[]): string {
  const shown = chains.slice(0, maxShown).map((chain) => chain.join(' -> '))
  return shown.join(', ') + (chains.length > maxShown ? ` and ${chains.length - maxShown} more` : '')
}

type Edge = { dependent: string; dependency: string }

const maxShown = 20
const ofPublic = `join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id and ${isPublicPackage('p')}`
const statedHere = `d.kind = 'direct' and ${isHostedHere('d.hosted_url')}`

/** Returns the dependency edges between public packages that lead to any of `names`. */
async function publicEdges(em: EntityManager, here: Here, names: readonly string[]): Promise<Edge[]> {
  if (names.length === 0) return []
  return em.execute<Edge[]>(
    `with recursive broken(name) as (
       select name from packages where name in (${names.map(() => '?').join(', ')})
       union select p.name from broken b join package_dependencies d on d.name = b.name and ${statedHere} ${ofPublic}
     )
     select distinct p.name as dependent, b.name as dependency
     from broken b join package_dependencies d on d.name = b.name and ${statedHere} ${ofPublic} order by p.name, b.name`,
    [...names, hostedHere(here), hostedHere(here)],
  )
}

function chainsTo(edges: readonly Edge[], names: readonly string[]): Chain[] {
  const paths = shortestPaths(
    names,
    edges.map(({ dependency, dependent }) => [dependency, dependent]),
  )
  const chains = [...paths.values()].filter(({ length }) => length > 1).map((path) => path.toReversed())
  return chains.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
}

/** Returns a shortest path to each node that edges lead to from any of `starts`, by node, by breadth-first search. */
export function shortestPaths(starts: readonly string[], edges: readonly (readonly [from: string, to: string])[]): Map<string, string[]> {
  const edgesFrom = Map.groupBy(edges, ([from]) => from)
  const paths = new Map(starts.map((start) => [start, [start]]))
  // Iterating a Map also visits entries added during the iteration.
  for (const [from, path] of paths) {
    for (const [, to] of edgesFrom.get(from) ?? []) if (!paths.has(to)) paths.set(to, [...path, to])
  }
  return paths
}

/** Effect of deleting a version on a constraint: another version satisfies it, no other does, or it does not allow the deleted version. */
export type Effect = 'served' | 'broken' | 'none'

/** Returns a function that computes the effect of deleting a version on a constraint. Retracted versions do not satisfy constraints. */
export async function effectOfDeletion(em: EntityManager, name: string, version: string): Promise<(constraint: string) => Effect> {
  const others = await em.execute<{ version: string }[]>(
    `select v.version from package_versions v join packages p on p.id = v.package_id
     where p.name = ? and v.version <> ? and v.retracted_at is null`,
    [name, version],
  )
  function effectOn(text: string): Effect {
    const constraint = parseConstraint(text)
    if (!constraint || !allows(constraint, version)) return 'none'
    return others.some((other) => allows(constraint, other.version)) ? 'served' : 'broken'
  }
  // Dependents mostly use the same few constraints, so the results are cached.
  const known = new Map<string, Effect>()
  return (text) => {
    const effect = known.get(text) ?? effectOn(text)
    known.set(text, effect)
    return effect
  }
}

/** A package that depends on what is to be deleted. `isBroken`: no remaining version satisfies its constraint. */
export type AffectedDependent = Dependent & { visibility: Visibility; isBroken: boolean }

/**
 * Returns every package that depends, in any version, on a package or on one version of it, once each and ordered by name. With `version`, only
 * constraints that allow it count. Reports a broken constraint first, then that of the latest version, then that of the highest version.
 * Dependencies without a registry URL count too: clients whose default registry is this server resolve them here.
 */
export async function affectedByDeletion(
  em: EntityManager,
  here: Here,
  name: string,
  version?: string | null,
): Promise<AffectedDependent[]> {
  const rows = await em.execute<AffectedRow[]>(affectedSql, [name, hostedHere(here), name])
  const dependents = rows.map(({ isBare, ...row }) => ({ ...row, isBare: Boolean(isBare) }))
  if (version == null) {
    const first = dependents.filter(({ name: one }, at) => dependents[at - 1]?.name !== one)
    return first.map((dependent) => ({ ...dependent, isBroken: true }))
  }
  const effectOn = await effectOfDeletion(em, name, version)
  const affected = new Map<string, AffectedDependent>()
  for (const dependent of dependents) {
    const effect = effectOn(dependent.constraint)
    if (effect === 'none') continue
    const isBroken = effect === 'broken'
    const known = affected.get(dependent.name)
    if (!known || (isBroken && !known.isBroken)) affected.set(dependent.name, { ...dependent, isBroken })
  }
  return [...affected.values()]
}

type AffectedRow = Omit<AffectedDependent, 'isBare' | 'isBroken'> & { isBare: boolean | number }

/** Selects each constraint of each dependent once, ordered by package name, with the constraint of the latest version first. */
const affectedSql = `select "packageId", name, version, "constraint", kind, visibility, "isBare" from (
    select p.id as "packageId", p.name, p.visibility, v.version, d."constraint", d.kind, d.hosted_url is null as "isBare",
      case when v.version = p.latest_version then 0 else 1 end as age, v.sort_key,
      case when d.kind = 'direct' then 0 else 1 end as need,
      row_number() over (partition by p.id, d."constraint" order by
        case when v.version = p.latest_version then 0 else 1 end, v.sort_key desc, case when d.kind = 'direct' then 0 else 1 end) as rank
    from package_dependencies d join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
    where d.name = ? and d.sdk is null and (${isHostedHere('d.hosted_url')} or d.hosted_url is null) and p.name <> ?
  ) stated where rank = 1 order by name, age, sort_key desc, need`
