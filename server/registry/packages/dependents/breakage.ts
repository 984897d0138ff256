import type { EntityManager } from '@mikro-orm/sql'
import { type Here, hostedHere, isHostedHere } from '../hosting/hosted-here.ts'
import { isPublicPackage } from '../policy.ts'
import { effectOfDeletion } from './deletion-effect.ts'

/** Package names from the package that breaks to its broken dependency, such as `['app', 'ui', 'icons']`. */
export type Chain = string[]

/**
 * Returns the public packages that depend on any of `names`, directly or through other public packages, each with a shortest chain, ordered by name.
 * A dependency counts if any existing version declares it in `dependencies` with `hosted:` pointing to this server. Private packages end a chain,
 * because the public cannot read their dependents anyway. Uses one recursive statement, which also terminates on cycles.
 */
export async function publicDependents(em: EntityManager, here: Here, names: readonly string[]): Promise<Chain[]> {
  return chainsTo(await publicEdges(em, here, names), names)
}

/**
 * Like `publicDependents`, but for one version: returns only packages whose constraint no other version satisfies. Retracted versions do not count as
 * alternatives.
 */
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

/** Breadth-first search, so that each chain is a shortest one. */
function chainsTo(edges: readonly Edge[], names: readonly string[]): Chain[] {
  const dependents = Map.groupBy(edges, ({ dependency }) => dependency)
  const chains = new Map<string, Chain>(names.map((name) => [name, [name]]))
  for (const [dependency, chain] of chains) {
    // Iterating a Map also visits entries added during the iteration.
    for (const { dependent } of dependents.get(dependency) ?? []) {
      if (!chains.has(dependent)) chains.set(dependent, [dependent, ...chain])
    }
  }
  return [...chains.values()].filter(({ length }) => length > 1).sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
}
