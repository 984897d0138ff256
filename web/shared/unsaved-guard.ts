import { useEventListener } from '@vueuse/core'
import { type Ref, ref } from 'vue'
import { onBeforeRouteLeave } from 'vue-router'

/** Keeps somebody from losing what they wrote: leaving the page asks first. `isAsking` opens the question; `answer` settles it. */
export function useUnsavedGuard(isDirty: Readonly<Ref<boolean>>) {
  const isAsking = ref(false)
  let settle: ((leave: boolean) => void) | undefined

  function answer(leave: boolean) {
    isAsking.value = false
    settle?.(leave)
    settle = undefined
  }
  onBeforeRouteLeave(() => {
    if (!isDirty.value) return true
    settle?.(false)
    isAsking.value = true
    return new Promise<boolean>((resolve) => (settle = resolve))
  })
  useEventListener(window, 'beforeunload', (event) => {
    if (isDirty.value) event.preventDefault()
  })
  return { isAsking, answer }
}
