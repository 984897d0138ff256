import { refDebounced } from '@vueuse/core'
import { computed, ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { type ApiChangesOfVersionFragment, CompareDocument, type CompareQuery, VersionNumbersDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { counted } from '../shared/format.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** The views of the compare page. The first one is the default. */
export const views = ['api', 'files', 'dependencies', 'changelog', 'upgrade'] as const
export type View = (typeof views)[number]

/** What the views show of the compared versions. */
export type Compared = NonNullable<NonNullable<CompareQuery['package']>['displayedVersion']>

/**
 * Compares the versions in the URL parameters `from` and `to`, as far as the view in the parameter `view` needs. Defaults: the latest version and its
 * predecessor.
 */
export function useComparison() {
  const [route, router] = [useRoute(), useRouter()]
  const view = useQueryParam<View>('view', 'api', { allowed: views, resets: ['file'] })
  const chosen = { from: useQueryParam<string>('from', ''), to: useQueryParam<string>('to', '') }
  const { data, ...state } = useQuery(CompareDocument, {
    variables: () => ({
      name: String(route.params.name),
      version: chosen.to.value || '0.0.0', // placeholder for the required variable `version`; ignored by the query
      exact: chosen.to.value !== '',
      from: chosen.from.value || null,
      ...(view.value !== 'upgrade' && { [view.value]: true }),
    }),
  })
  const pkg = computed(() => data.value?.package ?? undefined)
  const compared = computed<Compared | undefined>(() => pkg.value?.version ?? pkg.value?.displayedVersion ?? undefined)
  /** Whether the answer is about the current view. The answer for the previous view stays until the next one arrives. */
  const isLoaded = computed(() => {
    const { comparison, apiChanges } = compared.value ?? {}
    if (!pkg.value || !comparison || view.value === 'upgrade') return pkg.value !== undefined
    return (view.value === 'api' ? apiChanges : comparison[view.value]) !== undefined
  })
  const choose = (query: { from?: string | undefined; to?: string | undefined }) =>
    void router.push({ query: { ...route.query, ...query, file: undefined } })
  const from = computed({
    get: () => chosen.from.value || (compared.value?.comparison?.from.version ?? ''),
    set: (number) => choose({ from: number }),
  })
  const to = computed({ get: () => chosen.to.value || (compared.value?.version ?? ''), set: (number) => choose({ to: number }) })
  const isOnly = computed(() => pkg.value?.versions.totalCount === 1)
  const swap = () => choose({ from: to.value, to: from.value })
  return { ...state, view, isLoaded, compared, chosen, from, to, isOnly, swap }
}

/** Returns the version numbers that match the typed text, highest first. */
export function useVersionNumbers() {
  const route = useRoute()
  const typed = ref('')
  const filter = refDebounced(typed, 150)
  const { data, failure, retry } = useQuery(VersionNumbersDocument, {
    variables: () => ({
      name: String(route.params.name),
      filter: filter.value.trim() || null,
    }),
  })
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

/** Formats a difference of sizes: "+1.2 kB", "−340 B", "no change". */
export function sizeChange(before: number, after: number, format: (amount: number) => string): string {
  if (before === after) return 'no change'
  return `${after > before ? '+' : '−'}${format(Math.abs(after - before))}`
}
