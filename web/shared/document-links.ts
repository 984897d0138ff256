import type { RouteLocationRaw, Router } from 'vue-router'

/**
 * Returns the page of the console that a click on a link opens, or null if the browser handles the click: links to other servers, files and documentation, and clicks
 * that open a new tab. Links within the page keep its query.
 */
export function targetOf(link: HTMLAnchorElement | null, event: MouseEvent, router: Router): RouteLocationRaw | null {
  if (!link?.href || event.metaKey || event.ctrlKey || event.shiftKey || link.origin !== location.origin) return null
  const { path, query } = router.currentRoute.value
  if (link.pathname === location.pathname) return { path, query, hash: decodeURIComponent(link.hash) }
  const base = router.options.history.base
  const isPage = link.pathname.startsWith(`${base}/packages/`) || link.pathname.startsWith(`${base}/help`)
  return isPage ? link.pathname.slice(base.length) + link.search + link.hash : null
}
