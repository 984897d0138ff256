import type { EntityManager } from '@mikro-orm/sql'
import { readEach } from '../../../platform/db/batched.ts'
import type { Database } from '../../../platform/db/open/orm.ts'
import { type Here, hostedHere, isHostedHere } from '../hosting.ts'
import { allows, parseConstraint } from '../../../platform/pub/constraint.ts'
import { type Dependent, thisServer } from './service.ts'
import type { Visibility } from '../entity.ts'

/** Package names from the package that breaks to its broken dependency, such as `['app', 'ui', 'icons']`. */
export type Chain = string[]

/**
 * Returns the public packages that depend on any of `names` by `hosted:` dependencies of any version, directly or through other public packages,
 * each with a shortest chain, ordered by name. Sends a statement per level of the chains, batched per request.
 */
export async function publicDependents(reader: Reader, names: readonly string[]): Promise<Chain[]> {
  const edges = names.length > 0 ? await publicEdges(reader, names) : []
  return chainsTo(names, edges, reader)
}

/** Like `publicDependents`, but only packages whose constraint no other version satisfies that is not retracted. */
export async function dependentsOfVersion(reader: Reader, name: string, version: string): Promise<Chain[]> {
  const edges = await publicEdges(reader, [name])
  if (edges.length === 0) return []
  const effectOn = await effectOfDeletion(reader.em, name, version)
  return chainsTo(
    [name],
    edges.filter(({ constraint }) => effectOn(constraint) === 'broken'),
    reader,
  )
}

/** Formats chains for messages, such as `app -> ui -> icons, shop -> icons`. Lists at most 20. */
export function describeChains(chains: readonly Chain[]): string {
  const shown = chains.slice(0, maxShown).map((chain) => chain.join(' -> '))
  return shown.join(', ') + (chains.length > maxShown ? ` and ${chains.length - maxShown} more` : '')
}

type Reader = { em: EntityManager; config: Here; database: Pick<Database, 'backend'> }
type Edge = { dependent: string; dependency: string; constraint: string }

const maxShown = 20

/** Returns the dependencies of public packages on any of `names`. */
async function publicEdges({ em, config, database }: Reader, names: readonly string[]): Promise<Edge[]> {
  return readEach<Edge>(em, {
    sql: `select r.package_name as dependent, r.name as dependency, r."constraint" from package_requirements r
     where r.name ${isAmong(database)} and r.is_public = true and r.kind = 'direct' and ${isHostedHere('r.source')}
     order by r.package_name, r.name`,
    values: [JSON.stringify(names), hostedHere(config)],
    order: 'dependent, dependency',
  })
}

/** Follows edges to `names` up to packages on which no public package depends, level by level. */
async function chainsTo(names: readonly string[], edges: readonly Edge[], reader: Reader): Promise<Chain[]> {
  const chains = new Map(names.map((name) => [name, [name]]))
  for (let level = edges; level.length > 0;) {
    const added: string[] = []
    for (const { dependent, dependency } of level) {
      if (chains.has(dependent)) continue
      chains.set(dependent, [dependent, ...(chains.get(dependency) ?? [])])
      added.push(dependent)
    }
    level = added.length > 0 ? await publicEdges(reader, added) : []
  }
  const found = [...chains.values()].filter(({ length }) => length > 1)
  return found.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
}

/** Returns an SQL condition: the value is one of the strings in a bound JSON array. PostgreSQL uses an index for an array, but not for a subquery. */
const isAmong = ({ backend }: Reader['database']): string =>
  backend === 'sqlite' ? 'in (select value from json_each(?))' : '= any(array(select jsonb_array_elements_text(?::jsonb)))'

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
async function effectOfDeletion(em: EntityManager, name: string, version: string): Promise<(constraint: string) => Effect> {
  const others = await readEach<{ version: string }>(em, {
    sql: `select v.version from package_versions v join packages p on p.id = v.package_id
     where p.name = ? and v.version <> ? and v.retracted_at is null`,
    values: [name, version],
  })
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
 * Finds the packages that depend, in any version, on a package or on one version of it. With `version`, only constraints that allow it count. `load`
 * returns a page of them, once each and ordered by name: with a broken constraint if there is one, then that of the latest version, then that of the
 * highest version. Dependencies without a registry URL count too: clients whose default registry is this server resolve them here. Batched per request.
 */
export async function affectedByDeletion({ em, config, database }: Reader, name: string, version?: string | null) {
  const { sql, values } = thisServer(config)
  const among = isAmong(database)
  const all = `from package_requirements r where r.name = ? and r.package_name <> ? and r.source in ${sql}`
  const bound = [name, name, ...values]
  const effects = version == null ? null : await effectsOn(em, { name, version }, { sql: `select distinct r."constraint" ${all}`, bound })
  const matching = effects ? `${all} and r."constraint" ${among}` : all
  const parameters = effects ? [...bound, JSON.stringify([...effects.keys()])] : bound
  return {
    async load(limit: number, after = ''): Promise<AffectedDependent[]> {
      const page = `select distinct r.package_name as name ${matching} and r.package_name > ? order by r.package_name limit ?`
      const found = await readEach<{ name: string }>(em, { sql: page, values: [...parameters, after, limit], order: 'name' })
      const names = JSON.stringify(found.map((row) => row.name))
      const rows = await readEach<AffectedRow>(em, { sql: affectedSql(among, sql), values: [names, name, ...values], order: affectedOrder })
      return firstOfEach(rows, (constraint) => (effects ? effects.get(constraint) : 'broken'))
    },
    async count(): Promise<number> {
      const count = `select count(distinct r.package_name) as total ${matching}`
      const [row] = await readEach<{ total: number | string }>(em, { sql: count, values: parameters })
      return Number(row?.total)
    },
  }
}

/** Returns the effects of deleting a version on those of the selected constraints that allow it. */
async function effectsOn(em: EntityManager, deleted: { name: string; version: string }, { sql, bound }: { sql: string; bound: string[] }) {
  const constraints = await readEach<{ constraint: string }>(em, { sql, values: bound })
  const effectOn = await effectOfDeletion(em, deleted.name, deleted.version)
  return new Map(constraints.map(({ constraint }) => [constraint, effectOn(constraint)] as const).filter(([, effect]) => effect !== 'none'))
}

function firstOfEach(rows: AffectedRow[], effectOn: (constraint: string) => Effect | undefined): AffectedDependent[] {
  const affected = new Map<string, AffectedDependent>()
  for (const { isBare, age: _age, sort_key: _key, need: _need, ...row } of rows) {
    const effect = effectOn(row.constraint)
    if (effect === undefined) continue
    const isBroken = effect === 'broken'
    const known = affected.get(row.name)
    if (!known || (isBroken && !known.isBroken)) affected.set(row.name, { ...row, isBare: Boolean(isBare), isBroken })
  }
  return [...affected.values()]
}

type AffectedRow = Omit<AffectedDependent, 'isBare' | 'isBroken'> & {
  isBare: boolean | number
  age: number
  sort_key: string
  need: number
}

const affectedOrder = 'name, age, sort_key desc, need'

/**
 * Selects each constraint of each of these dependents once, ordered by package name, with the constraint of the latest version first. `= true` keeps
 * SQLite from starting with all dependents of the package.
 */
const affectedSql = (
  among: string,
  here: string,
) => `select "packageId", name, version, "constraint", kind, visibility, "isBare", age, sort_key, need from (
    select p.id as "packageId", p.name, p.visibility, v.version, d."constraint", d.kind, d.hosted_url is null as "isBare",
      case when v.version = p.latest_version then 0 else 1 end as age, v.sort_key,
      case when d.kind = 'direct' then 0 else 1 end as need,
      row_number() over (partition by p.id, d."constraint" order by
        case when v.version = p.latest_version then 0 else 1 end, v.sort_key desc, case when d.kind = 'direct' then 0 else 1 end) as rank
    from packages p join package_versions v on v.package_id = p.id join package_dependencies d on d.version_id = v.id and d.kind in ('direct', 'dev')
    where p.name ${among} and (d.name = ?) = true and d.sdk is null and coalesce(d.hosted_url, '') in ${here}
  ) stated where rank = 1 order by ${affectedOrder}`
