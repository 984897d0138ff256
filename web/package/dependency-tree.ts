import { computed } from 'vue'
import type { TreeItem } from '@nuxt/ui'
import { type ClosureFragment, DependencyClosureDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { sourceOf } from './dependencies.ts'
import { usePackageParams } from './package.ts'

type Node = ClosureFragment['dependencyClosure']['nodes'][number]

export interface Branch extends TreeItem {
  id: string
  name: string
  constraint: string
  /** The package on this server; undefined for other sources. */
  node?: Node
  /** The source of a package that is not on this server. */
  source?: string
  /** Why the dependencies are not listed: the package depends on itself, or they are listed under another package. */
  note?: string
  children?: Branch[]
}

/** Returns the packages of this server that the displayed version needs, as a tree, and the packages without a usable version. */
export function useDependencyTree() {
  const { data, ...state } = useQuery(DependencyClosureDocument, { variables: usePackageParams() })
  const version = computed(() => data.value?.package?.version ?? data.value?.package?.displayedVersion)
  const closure = computed(() => version.value?.dependencyClosure)
  const tree = computed(() => closure.value && branches(closure.value.nodes))
  const problems = computed(() => (closure.value ? problemsOf(closure.value.nodes) : []))
  const isTruncated = computed(() => closure.value?.isTruncated ?? false)
  const isUnresolvable = computed(() => closure.value?.isUnresolvable ?? false)
  return { ...state, tree, problems, isTruncated, isUnresolvable, count: computed(() => (closure.value?.nodes.length ?? 1) - 1) }
}

/** Builds the tree. The dependencies of a package are listed only where it is nearest to the root, which bounds the size and ends cycles. */
function branches(nodes: readonly Node[]): Branch[] {
  const byName = new Map(nodes.map((node) => [node.package.name, node]))
  const parents = nearestParents(nodes)

  function below(node: Node, path: readonly string[]): Branch[] {
    return node.dependencies.map((dependency): Branch => {
      const { name, constraint, isHostedHere } = dependency
      const common = { id: [...path, name].join('/'), label: name, name, constraint }
      const target = isHostedHere ? byName.get(name) : undefined
      if (!target) return { ...common, source: isHostedHere ? 'Not on this server' : sourceOf(dependency) }
      if (path.includes(name)) return { ...common, node: target, note: 'Cycle' }
      if (target.dependencies.length === 0) return { ...common, node: target }
      const parent = parents.get(name)
      if (parent !== node.package.name) return { ...common, node: target, note: `Dependencies listed under ${parent}` }
      return { ...common, node: target, children: below(target, [...path, name]), defaultExpanded: path.length < 3 }
    })
  }
  const [root] = nodes
  return root ? below(root, [root.package.name]) : []
}

/** Returns the parent of each package on a shortest path from the root. */
function nearestParents(nodes: readonly Node[]): Map<string, string> {
  const byName = new Map(nodes.map((node) => [node.package.name, node]))
  const parents = new Map<string, string>()
  const level = nodes.slice(0, 1)
  // Iterating an array also visits items added during the iteration.
  for (const { package: pkg, dependencies } of level)
    for (const { name, isHostedHere } of dependencies) {
      const target = isHostedHere ? byName.get(name) : undefined
      if (!target || parents.has(name) || target === nodes[0]) continue
      parents.set(name, pkg.name)
      level.push(target)
    }
  return parents
}

/** Lists the packages for which the highest versions leave no usable version, and which versions of them are needed. */
function problemsOf(nodes: readonly Node[]) {
  const needs = nodes.flatMap(({ package: pkg, dependencies }) =>
    dependencies
      .filter(({ isHostedHere }) => isHostedHere)
      .map(({ name, constraint }) => ({ name, text: `${pkg.name} needs ${constraint}` })),
  )
  return nodes
    .filter(({ problem }) => problem !== null)
    .map(({ package: { name } }) => ({
      name,
      text: needs
        .filter((need) => need.name === name)
        .map(({ text }) => text)
        .join(', '),
    }))
}
