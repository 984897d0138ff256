import type { Context } from '../../../platform/access/context.ts'
import { isSliceOver, yieldToEventLoop } from '../../../platform/threads/slices.ts'
import type { Dependency } from '../../archive/dependencies.ts'
import type { Package, PackageVersion } from '../entity.ts'
import { allows, parseConstraint } from '../../../platform/pub/constraint.ts'
import { parseVersion } from '../../../platform/pub/version.ts'
import { isThisServer } from '../hosting.ts'
import { loadPackage, loadReadablePackage } from '../service.ts'
import { findVersion, readableDependencies, selectableVersions } from '../versions/service.ts'

export const isLocalDependency = ({ hostedUrl }: Pick<Dependency, 'hostedUrl'>, context: Context): Promise<boolean> =>
  isThisServer(context, hostedUrl)

/**
 * Returns the first stable version that all constraints allow, or else the first pre-release, or null. `versions` are ordered from the
 * highest to the lowest.
 */
export const selectVersion = (versions: readonly string[], constraints: Iterable<string>): string | null =>
  preferredVersions(versions, constraints)[0] ?? null

/** Returns the versions that all constraints allow, stable ones first. */
function preferredVersions(versions: readonly string[], constraints: Iterable<string>): string[] {
  const parsed = Array.from(constraints, parseConstraint)
  const allowed = versions.filter((version) => parsed.every((constraint) => constraint !== null && allows(constraint, version)))
  const { stable = [], preRelease = [] } = Object.groupBy(allowed, (version) =>
    parseVersion(version)?.preRelease.length === 0 ? 'stable' : 'preRelease',
  )
  return [...stable, ...preRelease]
}

/** Returns the version of this server that satisfies a dependency, or null if the caller can read none. Batched per request. */
export async function resolveDependency(context: Context, dependency: Dependency): Promise<PackageVersion | null> {
  const pkg = (await isLocalDependency(dependency, context)) ? await loadReadablePackage(context, dependency.name) : null
  if (!pkg) return null
  const version = selectVersion(await selectableVersions(context, pkg), [dependency.constraint])
  return version === null ? null : findVersion(context, pkg, version)
}

/** `conflict`: no version satisfies the selected versions of all packages that need it. `unsatisfied`: no version satisfies the only constraint. */
export type Problem = 'conflict' | 'unsatisfied'

/** A package of the closure with its selected version, and the direct dependencies of that version. */
export type ClosureNode = { pkg: Package; version: PackageVersion | null; problem: Problem | null; dependencies: Dependency[] }

/**
 * All packages of this server that a version needs, directly or not. The version itself comes first. `isUnresolvable`: no combination of versions
 * satisfies all constraints. If it is false although nodes have problems, not all combinations were tried.
 */
export type Closure = { nodes: ClosureNode[]; isTruncated: boolean; isUnresolvable: boolean }

export const maxNodes = 200
/** A selected version can add constraints that change the selection of others. Selections that do not settle are cut off. */
const maxRounds = 6
/** Number of versions that are tried to find a combination. Steps instead of time, so that a busy server finds the same. */
const maxSteps = 1000
/** Number of further versions of a package that are loaded together. */
const batchSize = 16

type Known = { pkg: Package; versions: readonly string[] }
/** A package with the number of the version selected for it, null if none fits. */
type Chosen = { pkg: Package; number: string | null; problem: Problem | null }
type Selected = { version: PackageVersion; dependencies: Dependency[]; hosted: Dependency[] }
type Node = ClosureNode & { hosted: Dependency[] }
type Constraints = ReadonlyMap<string, ReadonlySet<string>>

/** What has been loaded: packages by name, null if the caller can read none, and versions by name and number. */
type Graph = { packages: Map<string, Known | null>; versions: Map<string, Selected | null> }

/**
 * Returns the packages of this server that a version needs, each with the highest version that satisfies the constraints of all selected versions.
 * Where the highest versions conflict, it tries older ones, as package clients do. Packages that the caller cannot read are omitted. Without conflicts,
 * each level of the graph takes the same few statements, however many packages it has.
 */
export async function dependencyClosure(context: Context, root: PackageVersion): Promise<Closure> {
  const pkg = await loadPackage(context, root.package.id)
  if (!pkg) return { nodes: [], isTruncated: false, isUnresolvable: false }
  const graph: Graph = { packages: new Map([[pkg.name, { pkg, versions: [root.version] }]]), versions: new Map() }
  const first = await nodeOf(context, graph, choose({ pkg, versions: [root.version] }, []))
  let constraints: Constraints = new Map()
  for (let round = 1; ; round++) {
    const { nodes, isTruncated } = await walk(context, graph, first, constraints)
    const next = constraintsOf(nodes)
    const isSettled = isSame(constraints, next)
    if (isSettled && nodes.every(({ problem }) => problem === null)) return { nodes, isTruncated, isUnresolvable: false }
    if (isSettled || round === maxRounds) {
      const search: Search = { context, graph, assigned: new Map([[first.pkg.name, { ...first, problem: null }]]), steps: 0 }
      const outcome = isTruncated || !first.version ? 'unknown' : await assignVersions(search)
      if (outcome === 'found') return { nodes: [...search.assigned.values()], isTruncated, isUnresolvable: false }
      return { nodes, isTruncated, isUnresolvable: outcome !== 'unknown' }
    }
    constraints = next
  }
}

type Search = { context: Context; graph: Graph; assigned: Map<string, Node>; steps: number }

/** `unknown`: a limit was reached. A set has the names of the assigned packages whose versions rule out all combinations. */
type Outcome = 'found' | 'unknown' | Set<string>

/**
 * Assigns a version to each package that the assigned ones need, the highest possible first. When a package has no version left, it goes back to the
 * last package that could change this (conflict-directed backjumping), and removes its own assignments.
 */
async function assignVersions(search: Search): Promise<Outcome> {
  const { context, graph, assigned } = search
  const hosted = [...assigned.values()].flatMap((node) => node.hosted.map((dependency) => ({ ...dependency, by: node.pkg.name })))
  const known = await Promise.all(hosted.map(({ name }) => knownPackage(context, graph, name)))
  const next = known.find((one) => one !== null && !assigned.has(one.pkg.name))
  if (!next) return 'found'
  if (assigned.size === maxNodes) return 'unknown'
  const { name } = next.pkg
  const needs = hosted.filter((dependency) => dependency.name === name)
  const conflicts = new Set(needs.map(({ by }) => by))
  const numbers = preferredVersions(
    next.versions,
    needs.map(({ constraint }) => constraint),
  )
  for (const [index, number] of numbers.entries()) {
    if (++search.steps > maxSteps) return 'unknown'
    if (isSliceOver()) await (context.budget?.pauseIfDue() ?? yieldToEventLoop())
    if (index % batchSize === 1)
      await Promise.all(numbers.slice(index, index + batchSize).map((one) => selectedVersion(context, graph, next.pkg, one)))
    const node = await nodeOf(context, graph, { pkg: next.pkg, number, problem: null })
    const other = node.hosted.find((dependency) => rejectsAssigned(dependency, assigned))
    if (other) {
      conflicts.add(other.name)
      continue
    }
    assigned.set(name, node)
    const outcome = await assignVersions(search)
    if (outcome === 'found' || outcome === 'unknown') return outcome
    assigned.delete(name)
    if (!outcome.delete(name)) return outcome
    for (const one of outcome) conflicts.add(one)
  }
  return conflicts
}

/** Whether a dependency does not allow the version assigned to its package. */
function rejectsAssigned({ name, constraint }: Dependency, assigned: Search['assigned']): boolean {
  const version = assigned.get(name)?.version
  return version != null && selectVersion([version.version], [constraint]) === null
}

/** Visits the graph level by level. `constraints` come from an earlier visit. */
async function walk(
  context: Context,
  graph: Graph,
  first: Node,
  constraints: Constraints,
): Promise<{ nodes: Node[]; isTruncated: boolean }> {
  const found = new Map([[first.pkg.name, first]])
  let isTruncated = false
  for (let level = [first]; level.length > 0;) {
    const needed = Map.groupBy(
      level.flatMap(({ hosted }) => hosted),
      ({ name }) => name,
    )
    const names = [...needed.keys()].filter((name) => !found.has(name))
    const added = names.slice(0, maxNodes - found.size)
    isTruncated ||= added.length < names.length
    const known = await Promise.all(added.map((name) => knownPackage(context, graph, name)))
    const chosen: Chosen[] = []
    // Long selections pause here, so that the statements of a level stay together, as do those of several closures.
    for (const one of known.filter((pkg) => pkg !== null)) {
      if (isSliceOver()) await (context.budget?.pauseIfDue() ?? yieldToEventLoop())
      const own = needed.get(one.pkg.name)?.map(({ constraint }) => constraint) ?? []
      chosen.push(choose(one, [...new Set([...own, ...(constraints.get(one.pkg.name) ?? [])])]))
    }
    level = await Promise.all(chosen.map((one) => nodeOf(context, graph, one)))
    for (const node of level) found.set(node.pkg.name, node)
  }
  return { nodes: [...found.values()].map((node) => withRootConflict(node, first, constraints)), isTruncated }
}

/** Marks the first node if a package that it needs depends on another version of it. */
function withRootConflict(node: Node, first: Node, constraints: Constraints): Node {
  if (node !== first || !node.version) return node
  const fits = selectVersion([node.version.version], constraints.get(node.pkg.name) ?? []) !== null
  return fits ? node : { ...node, problem: 'conflict' }
}

async function knownPackage(context: Context, { packages }: Graph, name: string): Promise<Known | null> {
  const loaded = packages.get(name)
  if (loaded !== undefined) return loaded
  const pkg = await loadReadablePackage(context, name)
  const known = pkg && { pkg, versions: await selectableVersions(context, pkg) }
  packages.set(name, known)
  return known
}

/** Selects a version. In a conflict, the first constraint decides which version is shown. */
function choose({ pkg, versions }: Known, constraints: string[]): Chosen {
  const best = selectVersion(versions, constraints)
  const number = best ?? selectVersion(versions, constraints.slice(0, 1))
  return { pkg, number, problem: best !== null ? null : constraints.length > 1 ? 'conflict' : 'unsatisfied' }
}

async function nodeOf(context: Context, graph: Graph, { pkg, number, problem }: Chosen): Promise<Node> {
  const selected = number === null ? null : await selectedVersion(context, graph, pkg, number)
  return { pkg, version: selected?.version ?? null, problem, dependencies: selected?.dependencies ?? [], hosted: selected?.hosted ?? [] }
}

async function selectedVersion(context: Context, { versions }: Graph, pkg: Package, number: string): Promise<Selected | null> {
  const key = `${pkg.name} ${number}`
  const loaded = versions.get(key)
  if (loaded !== undefined) return loaded
  const version = await findVersion(context, pkg, number)
  const dependencies = version ? (await readableDependencies(context, version)).filter(({ kind }) => kind === 'direct') : []
  const isHere = await Promise.all(dependencies.map((dependency) => isLocalDependency(dependency, context)))
  const selected = version && { version, dependencies, hosted: dependencies.filter((_, index) => isHere[index]) }
  versions.set(key, selected)
  return selected
}

/** Returns the constraints that the selected versions state, by name. */
function constraintsOf(nodes: readonly Node[]): Constraints {
  const byName = Map.groupBy(
    nodes.flatMap(({ hosted }) => hosted),
    ({ name }) => name,
  )
  return new Map([...byName].map(([name, some]) => [name, new Set(some.map(({ constraint }) => constraint))]))
}

const isSame = (before: Constraints, after: Constraints): boolean =>
  before.size === after.size && [...after].every(([name, some]) => before.get(name)?.symmetricDifference(some).size === 0)
