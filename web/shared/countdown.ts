import { useIntervalFn } from '@vueuse/core'
import { computed, type MaybeRefOrGetter, ref, toValue, watch } from 'vue'

/** Returns a ref that counts down from `retryAfter` seconds to 0, and restarts whenever `start` changes. */
export function useCountdown(start: MaybeRefOrGetter<{ retryAfter?: number } | undefined>) {
  const until = ref(0)
  const now = ref(Date.now())
  const { pause, resume } = useIntervalFn(tick, 1000, { immediate: false })
  const seconds = computed(() => Math.max(0, Math.ceil((until.value - now.value) / 1000)))

  function tick() {
    now.value = Date.now()
    if (now.value >= until.value) pause()
  }
  watch(
    () => toValue(start),
    (value) => {
      now.value = Date.now()
      until.value = now.value + (value?.retryAfter ?? 0) * 1000
      if (value?.retryAfter) resume()
    },
    { immediate: true },
  )
  return seconds
}
