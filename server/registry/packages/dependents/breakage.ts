import type { EntityManager } from '@mikro-orm/sql'
import { type Expression, type InferResult, sql } from 'kysely'
import { readEach } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { amongTexts } from '../../../platform/db/statements.ts'
import { type Condition, isOwnAddress } from '../conditions.ts'
import { type Here, hostedHere } from '../hosting.ts'
import { allows, parseConstraint } from '../../../platform/pub/constraint.ts'
import { type Dependent, type Registries, thisServer } from './service.ts'
import { dependencyKinds, type Visibility } from '../entity.ts'

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

/** `isExact`: all were counted. Otherwise there are more, or the chains are too long. */
export type DependentCount = { count: number; isExact: boolean }

/** Counts the packages whose latest version needs a package, directly or through other packages, without dev dependencies. A statement per level. */
export async function countAllDependents(em: EntityManager, isAmong: Registries, name: string): Promise<DependentCount> {
  const found = new Set([name])
  let level = [name]
  for (let depth = 0; level.length > 0; depth++) {
    const query = db
      .selectFrom('package_dependents as d')
      .select('d.package_name as dependent')
      .distinct()
      .where((eb) => amongTexts(em, eb.ref('d.name'), level))
      .where((eb) => isAmong(eb.ref('d.direct_source')))
      .orderBy('d.package_name')
      .limit(maxCounted + 1)
    const rows = depth < maxDepth ? await readEach(em, { query, order: 'dependent' }) : []
    level = rows.map(({ dependent }) => dependent).filter((one) => !found.has(one))
    for (const one of level) found.add(one)
    const count = Math.min(found.size - 1, maxCounted)
    if (depth === maxDepth || rows.length > maxCounted || found.size - 1 > maxCounted) return { count, isExact: false }
  }
  return { count: found.size - 1, isExact: true }
}

const maxCounted = 1000
const maxDepth = 25

type Reader = { em: EntityManager; config: Here }
type Edge = { dependent: string; dependency: string; constraint: string }

const maxShown = 20

/** Returns the dependencies of public packages on any of `names`. */
function publicEdges({ em, config }: Reader, names: readonly string[]): Promise<Edge[]> {
  const query = db
    .selectFrom('package_requirements as r')
    .select(['r.package_name as dependent', 'r.name as dependency', 'r.constraint'])
    .where((eb) => amongTexts(em, eb.ref('r.name'), names))
    .where((eb) => eb('r.is_public', '=', eb.lit(true)))
    .where('r.kind', '=', sql.lit('direct'))
    .where((eb) => isOwnAddress(eb.ref('r.source'), hostedHere(config)))
    .orderBy('r.package_name')
    .orderBy('r.name')
  return readEach(em, { query, order: 'dependent, dependency' })
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
  const query = db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .select('v.version')
    .where('p.name', '=', name)
    .where('v.version', '<>', version)
    .where('v.retracted_at', 'is', null)
  const others = await readEach(em, { query })
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
export async function affectedByDeletion({ em, config }: Reader, name: string, version?: string | null) {
  const isHere = thisServer(config)
  const all = db
    .selectFrom('package_requirements as r')
    .where('r.name', '=', name)
    .where('r.package_name', '<>', name)
    .where((eb) => isHere(eb.ref('r.source')))
  const effects =
    version == null ? null : await effectsOn(em, { name, version }, await readEach(em, { query: all.select('r.constraint').distinct() }))
  const matching = effects ? all.where((eb) => amongTexts(em, eb.ref('r.constraint'), [...effects.keys()])) : all
  return {
    async load(limit: number, after = ''): Promise<AffectedDependent[]> {
      const page = matching.select('r.package_name as name').distinct().where('r.package_name', '>', after).orderBy('r.package_name')
      const found = await readEach(em, { query: page.limit(limit), order: 'name' })
      const names = found.map((row) => row.name)
      const query = selectAffected((column) => amongTexts(em, column, names), name, isHere)
      const rows = await readEach(em, { query, order: 'name, age, sort_key desc, need' })
      return firstOfEach(rows, (constraint) => (effects ? effects.get(constraint) : 'broken'))
    },
    async count(): Promise<number> {
      const query = matching.select(({ fn }) => fn.count<number>('r.package_name').distinct().as('total'))
      const [row] = await readEach(em, { query })
      return row?.total ?? 0
    },
  }
}

/** Returns the effects of deleting a version on those of the constraints that allow it. */
async function effectsOn(em: EntityManager, deleted: { name: string; version: string }, constraints: readonly { constraint: string }[]) {
  const effectOn = await effectOfDeletion(em, deleted.name, deleted.version)
  return new Map(constraints.map(({ constraint }) => [constraint, effectOn(constraint)] as const).filter(([, effect]) => effect !== 'none'))
}

function firstOfEach(rows: AffectedRow[], effectOn: (constraint: string) => Effect | undefined): AffectedDependent[] {
  const affected = new Map<string, AffectedDependent>()
  for (const { hosted_url: url, age: _age, sort_key: _key, need: _need, ...row } of rows) {
    const effect = effectOn(row.constraint)
    if (effect === undefined) continue
    const isBroken = effect === 'broken'
    const known = affected.get(row.name)
    if (!known || (isBroken && !known.isBroken)) affected.set(row.name, { ...row, isBare: url === null, isBroken })
  }
  return [...affected.values()]
}

type AffectedRow = InferResult<ReturnType<typeof selectAffected>>[number]

/**
 * Selects each constraint of each of these dependents once, ordered by package name, with the constraint of the latest version first. `= true` keeps
 * SQLite from starting with all dependents of the package.
 */
function selectAffected(isChosen: (name: Expression<string>) => Condition, name: string, isHere: Registries) {
  const stated = db
    .selectFrom('packages as p')
    .innerJoin('package_versions as v', 'v.package_id', 'p.id')
    .innerJoin('package_dependencies as d', 'd.version_id', 'v.id')
    .select(['p.id as packageId', 'p.name', 'p.visibility', 'v.version', 'd.constraint', 'd.kind', 'd.hosted_url', 'v.sort_key'])
    .select((eb) => {
      const age = eb.case().when('v.version', '=', eb.ref('p.latest_version')).then(eb.lit(0)).else(eb.lit(1)).end()
      const need = eb.case().when('d.kind', '=', sql.lit('direct')).then(eb.lit(0)).else(eb.lit(1)).end()
      const rank = eb.fn
        .agg<number>('row_number')
        .over((over) => over.partitionBy(['p.id', 'd.constraint']).orderBy(age).orderBy('v.sort_key', 'desc').orderBy(need))
      return [age.as('age'), need.as('need'), rank.as('rank')]
    })
    .where((eb) => isChosen(eb.ref('p.name')))
    .where((eb) => eb(eb.parens('d.name', '=', name), '=', eb.lit(true)))
    .where('d.kind', 'in', dependencyKinds)
    .where('d.sdk', 'is', null)
    .where((eb) => isHere(eb.fn.coalesce('d.hosted_url', sql.lit(''))))
  return db
    .selectFrom(stated.as('stated'))
    .select(['packageId', 'name', 'version', 'constraint', 'kind', 'visibility', 'hosted_url', 'age', 'sort_key', 'need'])
    .where('rank', '=', 1)
    .orderBy('name')
    .orderBy('age')
    .orderBy('sort_key', 'desc')
    .orderBy('need')
}
