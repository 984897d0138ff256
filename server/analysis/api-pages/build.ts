import type { Api } from '../dart/api.ts'
import { templatesOf } from './directives.ts'
import type { Page } from './frame.ts'
import { renderIndexPage } from './index-page.ts'
import { renderLibraryPage } from './library-page.ts'
import { renderSearchPage } from './search-page.ts'
import { type About, buildSite, hasPage } from './site.ts'
import { renderTypePage } from './type-page.ts'

/**
 * Generates the API documentation of a package as complete pages: an index, a page per library, a page per class, mixin, extension, extension type
 * and enum, and a page of all symbols. The same API always gives the same pages. The pages are safe to serve whatever the package contains. Their
 * style sheet and script are expected at `../../-/` relative to the index (server/analysis/docs).
 */
export function* buildPages(api: Api, about: About): Generator<Page> {
  const pageContext = { site: buildSite(api, about), templates: templatesOf(api) }
  yield renderIndexPage(pageContext)
  yield renderSearchPage(pageContext)
  for (const libraryPage of pageContext.site.libraries) {
    yield renderLibraryPage(pageContext, libraryPage)
    for (const place of libraryPage.places) if (hasPage(place.declaration)) yield renderTypePage(pageContext, place)
  }
}
