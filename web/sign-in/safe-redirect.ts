import { useRoute, useRouter } from 'vue-router'

const elsewhere = new Set<unknown>(['not-found', 'login', 'setup', 'signup', 'welcome'])

/**
 * Goes where the `redirect` parameter says, if that is a page of this console or one that the server makes itself. Anything else leads home, so
 * that no link to the login page can lead to another site.
 */
export function useSafeRedirect() {
  const route = useRoute()
  const router = useRouter()
  return () => {
    const path = route.query.redirect
    if (typeof path !== 'string' || !path.startsWith('/')) return router.replace('/')
    const served = servedPage(path)
    if (served) return location.assign(served)
    const isOurs = /^\/(?![/\\])/.test(path) && !elsewhere.has(router.resolve(path).name)
    return router.replace(isOurs ? path : '/')
  }
}

/**
 * The address of a page that the server makes itself: API documentation, or where command-line clients ask for access. It is judged after the
 * browser's own parser has resolved it, dots and backslashes included.
 */
function servedPage(path: string): URL | null {
  const base = new URL(document.baseURI)
  const url = URL.parse(path.slice(1), base)
  if (url?.origin !== base.origin) return null
  const isServed = url.pathname === `${base.pathname}oauth/authorize` || url.pathname.startsWith(`${base.pathname}documentation/`)
  return isServed ? url : null
}
