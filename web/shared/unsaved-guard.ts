import { useEventListener } from '@vueuse/core'
import { computed, onScopeDispose, type Ref, ref } from 'vue'
import { onBeforeRouteLeave, onBeforeRouteUpdate } from 'vue-router'
import type { Confirmation } from './confirmation.ts'

const discards = new Set<() => void>()

/** Discards unsaved changes on the current page, so that it can be left without a prompt. Call this after deleting the edited object. */
export function discardUnsaved() {
  for (const discard of discards) discard()
}

/** Asks for confirmation before leaving a page with unsaved changes. Returns the state for a confirmation dialog. */
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
  // The page may be removed while the dialog is open. The pending navigation then continues.
  onScopeDispose(() => {
    discards.delete(discard)
    answer(true)
  })
  onBeforeRouteLeave(ask)
  // Other route parameters mean another object, so ask. Changes of the query only, such as filters and tabs, stay on the page.
  onBeforeRouteUpdate((to, from) => JSON.stringify(to.params) === JSON.stringify(from.params) || ask())
  useEventListener(window, 'beforeunload', (event) => {
    if (isDirty.value) event.preventDefault()
  })
  return {
    get isOpen() {
      return isAsking.value
    },
    question: { title: 'Leave without saving?', description: 'Your changes on this page have not been saved.', action: 'Leave' },
    running: false,
    failure: undefined,
    dismiss: () => answer(false),
    confirm: () => answer(true),
    closed: () => undefined,
  }
}
