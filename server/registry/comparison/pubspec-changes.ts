import type { Dependency } from '../archive/dependencies.ts'
import type { Pubspec } from '../archive/pubspec.ts'

/** A dependency that only one of two versions has, or that they declare differently. */
export type DependencyChange = { name: string; kind: Dependency['kind']; before: Dependency | null; after: Dependency | null }

/** An SDK constraint that differs between two versions. Null if a version does not state one. */
export type SdkChange = { sdk: string; before: string | null; after: string | null }

/** Compares the dependencies of two versions: direct ones first, each kind ordered by name. */
export function compareDependencies(earlier: readonly Dependency[], later: readonly Dependency[]): DependencyChange[] {
  const [before, after] = [byKey(earlier), byKey(later)]
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  const changes = keys.flatMap((key): DependencyChange[] => {
    const [old = null, current = null] = [before.get(key), after.get(key)]
    const one = current ?? old
    return one && !isSame(old, current) ? [{ name: one.name, kind: one.kind, before: old, after: current }] : []
  })
  return changes.sort((a, b) => (a.kind === b.kind ? (a.name < b.name ? -1 : 1) : a.kind === 'direct' ? -1 : 1))
}

/** Compares the SDK constraints of two versions. */
export function compareSdks(earlier: Pubspec['environment'], later: Pubspec['environment']): SdkChange[] {
  const constraintIn = (list: Pubspec['environment'], wanted: string) => list.find(({ sdk }) => sdk === wanted)?.constraint ?? null
  const names = [...new Set([...earlier, ...later].map(({ sdk }) => sdk))]
  return names
    .map((sdk) => ({ sdk, before: constraintIn(earlier, sdk), after: constraintIn(later, sdk) }))
    .filter(({ before, after }) => before !== after)
}

const byKey = (list: readonly Dependency[]) => new Map(list.map((dependency) => [`${dependency.kind} ${dependency.name}`, dependency]))

const isSame = (a: Dependency | null, b: Dependency | null) =>
  a?.constraint === b?.constraint && a?.source === b?.source && a?.hostedUrl === b?.hostedUrl && a?.sdk === b?.sdk
