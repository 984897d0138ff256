import { computed } from 'vue'
import { UnwatchPackageDocument, WatchPackageDocument } from '../generated/graphql.ts'
import { useChangedState, useMutation } from '../graphql.ts'
import { notify } from '../shared/notify.ts'

/** Starts or stops watching a package. `isWatching` is the state that the page has queried, or the one in a later response. */
export function useWatch(queried: () => boolean) {
  const watch = useMutation(WatchPackageDocument)
  const unwatch = useMutation(UnwatchPackageDocument)
  const { state: isWatching, change } = useChangedState(queried)
  async function setWatching(name: string, watching: boolean): Promise<unknown> {
    const result = await (watching ? watch : unwatch).run({ name })
    if (result) change(watching)
    if (result) notify(watching ? `You watch ${name}.` : `You no longer watch ${name}.`, () => setWatching(name, !watching))
    return result
  }
  return {
    isWatching,
    setWatching,
    running: computed(() => watch.running.value || unwatch.running.value),
    failure: computed(() => watch.failure.value ?? unwatch.failure.value),
  }
}
