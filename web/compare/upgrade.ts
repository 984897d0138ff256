import { computed, type MaybeRefOrGetter, shallowRef, toValue } from 'vue'
import { UpgradeChangesDocument, UpgradeCheckDocument, type UpgradeCheckQuery } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'

export type LockedPackage = NonNullable<UpgradeCheckQuery['upgradeCheck']>['packages'][number]

/** Returns whether the locked and the latest version of a package can be compared. */
export const isComparable = ({ state, locked }: LockedPackage) => state === 'BEHIND' && locked !== null

/** Checks the text of a pubspec.lock once it is submitted. The text is not part of the URL. */
export function useUpgradeCheck() {
  const lock = shallowRef<string>()
  const { data, failure, loading, retry } = useQuery(UpgradeCheckDocument, {
    variables: () => ({ lock: lock.value ?? '' }),
    isWanted: () => lock.value !== undefined,
  })
  function submit(text: string) {
    if (text === lock.value) retry()
    lock.value = text
  }
  const check = computed(() => (failure.value || lock.value === undefined ? undefined : data.value?.upgradeCheck))
  return { lock, check, failure, loading, submit }
}

/** Loads what an upgrade to the latest version changes in the public API of a comparable package, once it is wanted. Null if that is unknown. */
export function useUpgradeChanges(locked: MaybeRefOrGetter<LockedPackage>, isWanted: MaybeRefOrGetter<boolean>) {
  const variables = () => {
    const { name, version, latest } = toValue(locked)
    return { name, version: latest?.version ?? version, from: version }
  }
  const { data, failure, retry } = useQuery(UpgradeChangesDocument, { variables, isWanted, isBackground: true })
  const changes = computed(() => (data.value ? (data.value.package?.version?.apiChanges ?? null) : undefined))
  const breaking = computed(() => {
    if (!changes.value) return []
    const { removed, changed } = changes.value
    return [...removed.map(({ name }) => `${name} was removed`), ...changed.flatMap(({ breaks }) => breaks)]
  })
  return { changes, breaking, failure, retry }
}
