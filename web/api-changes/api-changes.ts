import { refDebounced } from '@vueuse/core'
import { computed, ref } from 'vue'
import { useRoute } from 'vue-router'
import { ApiChangesDocument, type ApiChangesOfVersionFragment, VersionNumbersDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { counted } from '../shared/format.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** Compares the public APIs of the versions in the URL parameters `from` and `to`. Defaults: the latest version and its predecessor. */
export function useApiChanges() {
  const route = useRoute()
  const chosen = { from: useQueryParam<string>('from', ''), to: useQueryParam<string>('to', '') }
  const { data, ...state } = useQuery(ApiChangesDocument, () => ({
    name: String(route.params.name),
    version: chosen.to.value || '0.0.0', // placeholder for the required variable `version`; ignored by the query
    exact: chosen.to.value !== '',
    from: chosen.from.value || null,
  }))
  const pkg = computed(() => data.value?.package)
  const version = computed(() => pkg.value?.version ?? pkg.value?.displayedVersion ?? undefined)
  const changes = computed(() => version.value?.apiChanges ?? undefined)
  const from = computed({ get: () => chosen.from.value || (changes.value?.from ?? ''), set: (number) => (chosen.from.value = number) })
  const to = computed({ get: () => chosen.to.value || (version.value?.version ?? ''), set: (number) => (chosen.to.value = number) })
  const isOnly = computed(() => pkg.value?.versions.totalCount === 1)
  return { ...state, pkg, version, changes, from, to, isOnly }
}

/** Returns the version numbers that match the typed text, highest first. */
export function useVersionNumbers() {
  const route = useRoute()
  const typed = ref('')
  const filter = refDebounced(typed, 150)
  const { data, failure, retry } = useQuery(VersionNumbersDocument, () => ({
    name: String(route.params.name),
    filter: filter.value.trim() || null,
  }))
  return { typed, failure, retry, numbers: computed(() => data.value?.package?.versions.nodes.map(({ version }) => version) ?? []) }
}

type Changes = NonNullable<ApiChangesOfVersionFragment['apiChanges']>

/** Describes whether the version number reflects these changes according to semantic versioning. */
export function verdictText({ isHonest, verdict, from }: Changes, version: string): string {
  if (isHonest == null) return `${version} is not later than ${from}, so its version number is not assessed.`
  if (isHonest) return `The version number ${version} reflects these changes correctly (semantic versioning).`
  return `${verdict ?? 'More changes than the version number indicates'}: semantic versioning requires a higher version number than ${version}.`
}

/** Summarizes the changes: "2 elements removed, 1 element changed, 3 elements added". */
export const countsText = ({ removedCount, changedCount, addedCount }: Changes) =>
  Object.entries({ removed: removedCount, changed: changedCount, added: addedCount })
    .filter(([, amount]) => amount > 0)
    .map(([what, amount]) => `${counted(amount, 'element')} ${what}`)
    .join(', ')
