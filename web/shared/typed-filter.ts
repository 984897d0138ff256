import { useTimeoutFn } from '@vueuse/core'
import { type Ref, ref, watch } from 'vue'
import { onBeforeRouteLeave } from 'vue-router'

/** Debounce delay in milliseconds between the last keystroke and applying a filter. */
const pauseMs = 300

/**
 * Debounces a filter field. `typed` is the text in the field. Its trimmed value is written to `applied` when typing pauses, or immediately by
 * `apply`. An external change of `applied`, such as "Clear filters", replaces the typed text.
 */
export function useTypedFilter(applied: Ref<string>) {
  const typed = ref(applied.value)
  let last = applied.value
  let isComposing = false
  let hasLeftPage = false
  const { start, stop } = useTimeoutFn(apply, pauseMs, { immediate: false })
  onBeforeRouteLeave(() => {
    stop()
    hasLeftPage = true // removing a focused field fires `change`, which would write the filter into the URL of the next page
  })

  function apply() {
    stop()
    if (hasLeftPage) return
    last = typed.value.trim()
    if (last !== applied.value) applied.value = last
  }
  function type(text: string) {
    typed.value = text
    hasLeftPage = false
    if (!isComposing) start()
  }
  /** Pauses filtering while an input method (IME) composes text. */
  function compose(isBegun: boolean) {
    isComposing = isBegun
    if (isBegun) stop()
    else start()
  }
  watch(applied, (value) => {
    if (value === last) return
    stop()
    last = value
    typed.value = value
  })
  return { typed, type, compose, apply }
}
