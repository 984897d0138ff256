import { createSharedComposable, useIntervalFn, useNow } from '@vueuse/core'

/** Returns the current time, updated every minute. All components share one timer. */
export const useMinuteClock = createSharedComposable(() => useNow({ scheduler: (tick) => useIntervalFn(tick, 60_000) }))
