import { computed } from 'vue'
import { useRoute } from 'vue-router'
import { HomeDocument, type PackageSort, SearchPackagesDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { usePageNumber, useQueryParam } from '../shared/query-param.ts'
import { wordsOf } from './search-query.ts'
import { useSession } from '../sign-in/session.ts'

export const pageSize = 20

const sorts = {
  relevance: 'RELEVANCE',
  updated: 'PUBLISHED',
  changed: 'UPDATED',
  created: 'CREATED',
  downloads: 'DOWNLOADS',
  score: 'SCORE',
  likes: 'LIKES',
  name: 'NAME',
} as const satisfies Record<string, PackageSort>
type SortName = keyof typeof sorts

export const sortLabels: Record<SortName, string> = {
  relevance: 'Best match',
  updated: 'Recently updated',
  changed: 'Recently changed',
  created: 'Newest',
  downloads: 'Most downloads',
  score: 'Highest score',
  likes: 'Most likes',
  name: 'Name',
}

/** The tabs of the search, by the URL parameter `tab`. */
export const searchTabs = { packages: 'Packages', api: 'API' }
export type SearchTab = keyof typeof searchTabs

/** Searches packages by the URL parameters `q`, `sort` and `page`, unless `tab` wants something else. */
export function usePackageSearch() {
  const route = useRoute()
  const query = computed(() => String(route.query.q ?? ''))
  const words = computed(() => wordsOf(query.value))
  const names = computed(() => (Object.keys(sorts) as SortName[]).filter((name) => name !== 'relevance' || words.value !== ''))
  const chosen = useQueryParam<SortName | ''>('sort', '', { allowed: ['', ...(Object.keys(sorts) as SortName[])], resets: ['page'] })
  const sort = computed({
    get: () => (chosen.value !== '' && names.value.includes(chosen.value) ? chosen.value : (names.value[0] ?? 'updated')),
    set: (name) => (chosen.value = name === names.value[0] ? '' : name),
  })
  const tab = useQueryParam<SearchTab>('tab', 'packages', { allowed: ['packages', 'api'] })
  const page = usePageNumber()
  const { data, ...state } = useQuery(SearchPackagesDocument, {
    variables: () => ({
      query: query.value,
      sort: sorts[sort.value],
      first: pageSize,
      offset: (page.value - 1) * pageSize,
    }),
    isWanted: () => tab.value === 'packages',
  })
  const result = computed(() => data.value?.searchPackages)
  const packages = computed(() => result.value?.edges.map(({ node, excerpt }) => ({ ...node, excerpt })) ?? [])
  return { ...state, query, words, names, sort, tab, page, result, packages }
}

/** Returns the content of the home page: recently updated, most downloaded and the viewer's own packages. */
export function useHome() {
  const { viewer } = useSession()
  return useQuery(HomeDocument, { variables: () => ({ signedIn: viewer.value != null }) })
}
