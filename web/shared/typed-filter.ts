import { useTimeoutFn } from '@vueuse/core'
import { type Ref, ref, watch } from 'vue'

/** How long after the last key a filter applies by itself, in milliseconds. */
const pauseMs = 300

/**
 * What is being typed into a filter, and the same trimmed in `applied` once typing pauses, or at once by `apply`. A change of `applied` from
 * elsewhere, such as "Clear filters", takes the place of what was typed; one that typing itself led to does not.
 */
export function useTypedFilter(applied: Ref<string>) {
  const typed = ref(applied.value)
  let last = applied.value
  const { start, stop } = useTimeoutFn(apply, pauseMs, { immediate: false })

  function apply() {
    stop()
    last = typed.value.trim()
    if (last !== applied.value) applied.value = last
  }
  function type(text: string) {
    typed.value = text
    start()
  }
  watch(applied, (value) => {
    if (value === last) return
    stop()
    last = value
    typed.value = value
  })
  return { typed, type, apply }
}
