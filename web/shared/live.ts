import { type TypedDocumentNode, useSubscription } from '@urql/vue'
import { useDocumentVisibility, useIntervalFn } from '@vueuse/core'
import { computed, type MaybeRefOrGetter, toValue, watch } from 'vue'

/** Polling interval in milliseconds while the subscription is closed. The subscription is retried after every `pollsPerTry` polls. */
const pollMs = 3000
const pollsPerTry = 5

/**
 * Subscribes to a resource while `isWanted` is true and the page is visible. `changed` receives the initial state and every update. While the
 * subscription is closed, `poll` is called every 3 seconds instead.
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
