import type { EntityManager } from '@mikro-orm/sql'
import { type Here, hostedHere, isHostedHere } from '../packages/hosting/hosted-here.ts'
import type { Chain } from '../packages/dependents/breakage.ts'
import type { Visibility } from '../packages/entity.ts'

/** Dependencies of a package on other packages of this server. */
export type Closure = {
  /** Names of all packages that any version depends on, directly or transitively, public or private, in order. */
  reached: string[]
  /** The private packages in `reached`, each with a shortest dependency chain, ordered by name. They must become public together with the package. */
  companions: { name: string; chain: Chain }[]
}

/**
 * Returns the transitive dependencies of all versions of a package that are declared in `dependencies` with `hosted:` pointing to this server. Uses
 * one recursive statement, which also terminates on cycles.
 */
export async function closureOf(em: EntityManager, here: Here, name: string): Promise<Closure> {
  const edges = await em.execute<Edge[]>(
    `with recursive needed(name) as (
       select name from packages where name = ?
       union select q.name from needed n ${dependenciesOfNeeded}
     )
     select distinct n.name as dependent, q.name as dependency, q.visibility from needed n ${dependenciesOfNeeded} order by n.name, q.name`,
    [name, hostedHere(here), hostedHere(here)],
  )
  const chains = chainsFrom(name, edges)
  const visibilities = new Map(edges.map(({ dependency, visibility }) => [dependency, visibility]))
  const reached = [...chains.keys()].filter((one) => one !== name).sort()
  const companions = reached
    .filter((one) => visibilities.get(one) === 'private')
    .map((one) => ({ name: one, chain: chains.get(one) ?? [] }))
  return { reached, companions }
}

type Edge = { dependent: string; dependency: string; visibility: Visibility }

const dependenciesOfNeeded = `join packages p on p.name = n.name
  join package_versions v on v.package_id = p.id
  join package_dependencies d on d.version_id = v.id and d.kind = 'direct' and ${isHostedHere('d.hosted_url')}
  join packages q on q.name = d.name`

/** Breadth-first search, so that each chain is a shortest one. */
function chainsFrom(name: string, edges: readonly Edge[]): Map<string, Chain> {
  const dependencies = Map.groupBy(edges, ({ dependent }) => dependent)
  const chains = new Map<string, Chain>([[name, [name]]])
  for (const [dependent, chain] of chains) {
    // Iterating a Map also visits entries added during the iteration.
    for (const { dependency } of dependencies.get(dependent) ?? []) {
      if (!chains.has(dependency)) chains.set(dependency, [...chain, dependency])
    }
  }
  return chains
}
