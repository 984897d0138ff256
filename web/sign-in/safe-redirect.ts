import { useRoute, useRouter } from 'vue-router'

const elsewhere = new Set<unknown>(['not-found', 'login', 'setup', 'signup', 'welcome'])

/**
 * Goes where the `redirect` parameter says, if that is a page of this console, or the server's own address that command-line clients
 * open; anything else leads home.
 */
export function useSafeRedirect() {
  const route = useRoute()
  const router = useRouter()
  return () => {
    const path = route.query.redirect
    if (typeof path === 'string' && path.startsWith('/oauth/authorize?')) return location.assign(new URL(path.slice(1), document.baseURI))
    const isOurs = typeof path === 'string' && /^\/(?![/\\])/.test(path) && !elsewhere.has(router.resolve(path).name)
    return router.replace(isOurs ? path : '/')
  }
}
