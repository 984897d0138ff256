import { createSharedComposable, useIntervalFn, useNow } from '@vueuse/core'

/** The time, to the minute: one clock for all that show it. */
export const useMinutes = createSharedComposable(() => useNow({ scheduler: (tick) => useIntervalFn(tick, 60_000) }))
