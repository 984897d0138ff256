import type { RouteLocationRaw, Router } from 'vue-router'
import { PackageFilesDocument } from '../generated/graphql.ts'
import { client } from '../graphql.ts'

/**
 * Returns the page of the console that a click on a link opens, or null if the browser handles the click: links to other servers, files and documentation, and clicks
 * that open a new tab. Links within the page keep its query.
 */
export function targetOf(link: HTMLAnchorElement | null, event: MouseEvent, router: Router): RouteLocationRaw | null {
  if (!link?.href || opensTab(event) || link.origin !== location.origin) return null
  const { path, query } = router.currentRoute.value
  if (link.pathname === location.pathname) return { path, query, hash: decodeURIComponent(link.hash) }
  const base = router.options.history.base
  const isPage = link.pathname.startsWith(`${base}/packages/`) || link.pathname.startsWith(`${base}/help`)
  return isPage ? link.pathname.slice(base.length) + link.search + link.hash : null
}

/** Whether a click opens the link in a new tab or window. */
export const opensTab = ({ metaKey, ctrlKey, shiftKey }: MouseEvent) => metaKey || ctrlKey || shiftKey

/** Opens a link into the package's repository: the page of the file if the version contains it (`page`), else the link. */
export async function openFile(link: HTMLAnchorElement, page: string, router: Router): Promise<void> {
  const { fullPath } = router.currentRoute.value
  const target = page.slice(router.options.history.base.length)
  const isThere = await hasFile(target, router)
  if (router.currentRoute.value.fullPath !== fullPath) return
  if (isThere) await router.push(target)
  else location.assign(link.href)
}

/** Whether the version of a page contains the file that the page shows. */
async function hasFile(target: string, router: Router): Promise<boolean> {
  const { name: tab, params } = router.resolve(target)
  const variables = { name: String(params.name), version: String(params.version), exact: true }
  const { data } = await client.query(PackageFilesDocument, variables, { requestPolicy: 'cache-first' }).toPromise()
  const paths = data?.package?.version?.files.nodes.map(({ path }) => path) ?? []
  const file = [params.path ?? []].flat().join('/')
  if (file) return paths.some((path) => path === file || path.startsWith(`${file}/`))
  const document = String(tab).replace('version-', '')
  return paths.some((path) => path.toLowerCase().startsWith(document))
}
