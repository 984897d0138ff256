import { useTimeoutFn } from '@vueuse/core'
import { type Ref, ref, watch } from 'vue'
import { onBeforeRouteLeave } from 'vue-router'

/** How long after the last key a filter applies by itself, in milliseconds. */
const pauseMs = 300

/**
 * What is being typed into a filter, and the same trimmed in `applied` once typing pauses, or at once by `apply`. A change of `applied` from
 * elsewhere, such as "Clear filters", takes the place of what was typed; one that typing itself led to does not.
 */
export function useTypedFilter(applied: Ref<string>) {
  const typed = ref(applied.value)
  let last = applied.value
  let isComposing = false
  let isLeft = false
  const { start, stop } = useTimeoutFn(apply, pauseMs, { immediate: false })
  onBeforeRouteLeave(() => {
    stop()
    isLeft = true // a field that goes with its page says that it was changed, when the address is that of the next one
  })

  function apply() {
    stop()
    if (isLeft) return
    last = typed.value.trim()
    if (last !== applied.value) applied.value = last
  }
  function type(text: string) {
    typed.value = text
    isLeft = false
    if (!isComposing) start()
  }
  /** Half a word of an input method is no filter. */
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
