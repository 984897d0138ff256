import { computed, readonly, ref, shallowRef, watch } from 'vue'
import { type RouteLocationNormalized, type Router, useRoute } from 'vue-router'
import { queriesInFlight } from '../read-your-writes.ts'

const target = shallowRef<RouteLocationNormalized>()
const opening = ref(false)

/** Whether a page is opening: from the click until its scripts and its data have arrived. */
export const isOpening = readonly(opening)

/** Tracks the page that is opening. Register this after guards that redirect. */
export function trackOpening(router: Router) {
  const settle = () => {
    if (!target.value && queriesInFlight.value === 0) opening.value = false
  }
  const end = (to: RouteLocationNormalized) => {
    if (target.value !== to) return
    target.value = undefined
    setTimeout(settle) // after the page has sent its queries
  }
  router.beforeEach((to) => {
    target.value = to
    opening.value = true
  })
  router.afterEach(end)
  router.onError((_error, to) => end(to))
  watch(queriesInFlight, settle)
}

/** Returns the route that is opening, else the current route, so that links look selected at once. */
export function useTargetRoute() {
  const route = useRoute()
  return computed(() => target.value ?? route)
}
