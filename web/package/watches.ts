import { computed } from 'vue'
import { UnwatchPackageDocument, WatchPackageDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { notify } from '../shared/notify.ts'

/** Starts or stops watching a package. The response contains the new state, which updates the page. */
export function useWatch() {
  const watch = useMutation(WatchPackageDocument)
  const unwatch = useMutation(UnwatchPackageDocument)
  async function setWatching(name: string, watching: boolean): Promise<unknown> {
    const result = await (watching ? watch : unwatch).run({ name })
    if (result) notify(watching ? `You watch ${name}.` : `You no longer watch ${name}.`, () => setWatching(name, !watching))
    return result
  }
  return {
    setWatching,
    running: computed(() => watch.running.value || unwatch.running.value),
    failure: computed(() => watch.failure.value ?? unwatch.failure.value),
  }
}
