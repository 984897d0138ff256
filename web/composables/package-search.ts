import { computed } from 'vue'
import { useRoute } from 'vue-router'
import { type PackageSort, SearchPackagesDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useQueryParam } from './query-param.ts'

export const pageSize = 20

const sorts = { relevance: 'RELEVANCE', updated: 'UPDATED', created: 'CREATED', name: 'NAME' } as const satisfies Record<
  string,
  PackageSort
>
type SortName = keyof typeof sorts

export const sortLabels: Record<SortName, string> = {
  relevance: 'Best match',
  updated: 'Recently updated',
  created: 'Newest',
  name: 'Name',
}

/** The list of packages as the address asks for it: `q`, `sort`, `page`. */
export function usePackageSearch() {
  const route = useRoute()
  const words = computed(() => String(route.query.q ?? ''))
  const names = computed(() => (Object.keys(sorts) as SortName[]).filter((name) => name !== 'relevance' || words.value !== ''))
  const chosen = useQueryParam<SortName | ''>('sort', '', { allowed: ['', 'relevance', 'updated', 'created', 'name'], resets: ['page'] })
  const sort = computed({
    get: () => (chosen.value !== '' && names.value.includes(chosen.value) ? chosen.value : (names.value[0] ?? 'updated')),
    set: (name) => (chosen.value = name === names.value[0] ? '' : name),
  })
  const pageParam = useQueryParam<string>('page', '1')
  const page = computed(() => Math.max(1, Math.floor(Number(pageParam.value)) || 1))
  const { data, ...state } = useQuery(SearchPackagesDocument, () => ({
    query: words.value,
    sort: sorts[sort.value],
    first: pageSize,
    offset: (page.value - 1) * pageSize,
  }))
  return { ...state, words, names, sort, page, result: computed(() => data.value?.searchPackages) }
}

/** What changed last, for the home page. */
export function useRecentPackages(first = 6) {
  const { data, ...state } = useQuery(SearchPackagesDocument, { query: '', sort: 'UPDATED', first, offset: 0 })
  return { ...state, result: computed(() => data.value?.searchPackages) }
}
