import { anyPath, type Page, pages } from './pages.ts'

/** A page with its full path, and its frames and itself from the outermost one. `**` in the path stands for any number of segments. */
export interface FlatPage {
  path: string
  parts: Page[]
}

/** Lists the pages and frames except the catch-all page. A frame has the same path as its first page, which follows it. */
export function flatPages(list = pages, above: FlatPage = { path: '', parts: [] }): FlatPage[] {
  return list.flatMap((page) => {
    if (page.path === anyPath) return []
    const path = [above.path, page.path].filter(Boolean).join('/').replace('//', '/')
    const flat = { path, parts: [...above.parts, page] }
    return [{ ...flat, path: path.replace('/:path(.*)*', '/**') }, ...flatPages(page.children ?? [], flat)]
  })
}
