import { useLocalStorage } from '@vueuse/core'
import { computed, type Ref } from 'vue'
import { useSession } from '../sign-in/session.ts'

/**
 * Returns whether to show how to use the registry: until the user has published a version, or has hidden it. Hiding is remembered per account in the
 * browser rather than on the server, because adding a token is a step for every machine. Anonymous users always see it.
 */
export function useGettingStarted(hasPublished: Readonly<Ref<boolean | null | undefined>>) {
  const { viewer } = useSession()
  const hiddenBy = useLocalStorage<string[]>('snug-hidden-start', [])
  const isHidden = computed(() => viewer.value !== undefined && hiddenBy.value.includes(viewer.value.id))
  const isShown = computed(() => !viewer.value || (hasPublished.value === false && !isHidden.value))
  function hide() {
    if (viewer.value) hiddenBy.value = [...hiddenBy.value, viewer.value.id]
  }
  return { isShown, hide }
}
