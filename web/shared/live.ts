import { type TypedDocumentNode, useSubscription } from '@urql/vue'
import { useDocumentVisibility, useIntervalFn } from '@vueuse/core'
import { computed, type MaybeRefOrGetter, toValue, watch } from 'vue'

/** How often is asked where nothing is pushed, and every how many times the push is tried again. */
const pollMs = 3000
const pollsPerTry = 5

/**
 * Follows something on the server while it is wanted: `changed` is called with what is there and with every change of it. Where the server
 * pushes nothing, `poll` is called every few seconds instead. A page that nobody sees follows nothing.
 */
export function useLive<Result, Variables extends object>(
  document: TypedDocumentNode<Result, Variables>,
  variables: MaybeRefOrGetter<Variables>,
  { isWanted, changed, poll }: { isWanted: MaybeRefOrGetter<boolean>; changed: (result: Result) => void; poll: () => void },
) {
  const visibility = useDocumentVisibility()
  const isFollowing = computed(() => toValue(isWanted) && visibility.value === 'visible')
  const { data, fetching, executeSubscription } = useSubscription<Result, Result, Variables>({
    query: document,
    variables,
    pause: () => !isFollowing.value,
  })
  watch(data, (result) => result && changed(result))
  let polls = 0
  useIntervalFn(() => {
    if (!isFollowing.value || fetching.value) return
    poll()
    polls++
    if (polls % pollsPerTry === 0) executeSubscription()
  }, pollMs)
}
