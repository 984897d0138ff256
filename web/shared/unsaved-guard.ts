import { useEventListener } from '@vueuse/core'
import { computed, onScopeDispose, type Ref, ref } from 'vue'
import { onBeforeRouteLeave, onBeforeRouteUpdate } from 'vue-router'
import type { Confirmation } from './confirmation.ts'

const discards = new Set<() => void>()

/** Lets the page on show be left without a question: what its forms are about was deleted. */
export function discardUnsaved() {
  for (const discard of discards) discard()
}

/** Asks before leaving a page with unsaved changes, by the confirmation that it returns. */
export function useUnsavedGuard(isChanged: Readonly<Ref<boolean>>): Confirmation {
  const isAsking = ref(false)
  const isDiscarded = ref(false)
  const isDirty = computed(() => isChanged.value && !isDiscarded.value)
  let settle: ((leave: boolean) => void) | undefined

  function answer(leave: boolean) {
    isAsking.value = false
    settle?.(leave)
    settle = undefined
  }
  function ask(): true | Promise<boolean> {
    if (!isDirty.value) return true
    settle?.(false)
    isAsking.value = true
    return new Promise<boolean>((resolve) => (settle = resolve))
  }
  const discard = () => void (isDiscarded.value = true)
  discards.add(discard)
  // The page may go while it asks: whoever waits for the answer goes on.
  onScopeDispose(() => {
    discards.delete(discard)
    answer(true)
  })
  onBeforeRouteLeave(ask)
  // The same page of something else is another page; its filters and tabs in the address are not.
  onBeforeRouteUpdate((to, from) => JSON.stringify(to.params) === JSON.stringify(from.params) || ask())
  useEventListener(window, 'beforeunload', (event) => {
    if (isDirty.value) event.preventDefault()
  })
  return {
    get isOpen() {
      return isAsking.value
    },
    question: { title: 'Leave without saving?', description: 'What you changed here is not saved.', action: 'Leave' },
    running: false,
    failure: undefined,
    dismiss: () => answer(false),
    confirm: () => answer(true),
    closed: () => undefined,
  }
}
