import { computed, shallowRef, watch } from 'vue'
import { useRoute } from 'vue-router'
import { VersionsDocument, type VersionRowFragment } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useQueryParam } from './query-param.ts'

/** All versions of the package that the address names, a hundred an answer; the address holds the order. */
export function useVersions() {
  const route = useRoute()
  const order = useQueryParam('order', 'descending', { allowed: ['descending', 'ascending'], replace: true })
  const after = shallowRef<string | null>(null)
  const loaded = shallowRef<VersionRowFragment[]>([])
  const { data, ...state } = useQuery(VersionsDocument, () => ({ name: String(route.params.name), after: after.value }))
  const connection = computed(() => data.value?.package?.versions)

  // The next hundred follow by themselves: an order of only a part would mislead.
  watch(
    connection,
    (page) => {
      if (!page) return
      const known = new Set(page.nodes.map(({ id }) => id))
      loaded.value = [...loaded.value.filter(({ id }) => !known.has(id)), ...page.nodes]
      if (page.pageInfo.hasNextPage) after.value = page.pageInfo.endCursor ?? null
    },
    { immediate: true },
  )
  return {
    ...state,
    order,
    total: computed(() => connection.value?.totalCount ?? 0),
    isAnswered: computed(() => connection.value !== undefined),
    versions: computed(() => (order.value === 'descending' ? loaded.value : loaded.value.toReversed())),
  }
}
