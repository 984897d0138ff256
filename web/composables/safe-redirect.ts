import { useRoute, useRouter } from 'vue-router'

const elsewhere = new Set<unknown>(['not-found', 'login', 'setup'])

/** Goes where the `redirect` parameter says, if that is a page of this console; anything else leads home. */
export function useSafeRedirect() {
  const route = useRoute()
  const router = useRouter()
  return () => {
    const path = route.query.redirect
    const isOurs = typeof path === 'string' && /^\/(?![/\\])/.test(path) && !elsewhere.has(router.resolve(path).name)
    return router.replace(isOurs ? path : '/')
  }
}
