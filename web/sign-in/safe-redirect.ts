import { useRoute, useRouter } from 'vue-router'

const elsewhere = new Set<unknown>(['not-found', 'login', 'setup', 'signup', 'welcome'])

/**
 * Returns a function that navigates to the page in the `redirect` parameter, if it belongs to the console or is rendered by this server. Any
 * other value leads to the home page, which prevents open redirects to other sites.
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
 * Returns the URL if it is a page rendered by the server: package documentation or the OAuth authorization endpoint. The check runs on the URL
 * as parsed by the browser, so that `..` segments and backslashes cannot bypass it.
 */
function servedPage(path: string): URL | null {
  const base = new URL(document.baseURI)
  const url = URL.parse(path.slice(1), base)
  if (url?.origin !== base.origin) return null
  const isServed = url.pathname === `${base.pathname}oauth/authorize` || url.pathname.startsWith(`${base.pathname}documentation/`)
  return isServed ? url : null
}
