import { refDebounced } from '@vueuse/core'
import { computed, type Ref } from 'vue'
import { SearchUpstreamDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useMirrorHost } from './mirror.ts'

/** Finds packages of the upstream server by name. Searches only texts that can be part of a name. */
export function useUpstreamSearch(typed: Readonly<Ref<string>>, first: number) {
  const host = useMirrorHost()
  const settled = refDebounced(typed, 150)
  const query = computed(() => settled.value.trim())
  const isWanted = computed(() => host.value !== undefined && /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(query.value))
  const { data, ...state } = useQuery(SearchUpstreamDocument, {
    variables: () => ({ query: query.value, first }),
    isWanted,
    isBackground: true,
  })
  return { ...state, host, query, isWanted, matches: computed(() => (isWanted.value ? data.value?.searchUpstream : undefined)) }
}
