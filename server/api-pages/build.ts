import type { Api } from '../dart/api.ts'
import { templatesOf } from './directives.ts'
import type { Page } from './frame.ts'
import { indexPage } from './index-page.ts'
import { libraryPage } from './library-page.ts'
import { searchPage } from './search-page.ts'
import { type About, arrange, hasPage } from './site.ts'
import { typePage } from './type-page.ts'

/**
 * Generates the API documentation of a package as complete pages: an index, a page per library, a page per class, mixin, extension, extension type
 * and enum, and a page of all symbols. The same API always gives the same pages. The pages are safe to serve whatever the package contains. Their
 * style sheet and script are expected at `../../-/` relative to the index (server/docs).
 */
export function* buildPages(api: Api, about: About): Generator<Page> {
  const making = { site: arrange(api, about), templates: templatesOf(api) }
  yield indexPage(making)
  yield searchPage(making)
  for (const shelf of making.site.libraries) {
    yield libraryPage(making, shelf)
    for (const place of shelf.places) if (hasPage(place.declaration)) yield typePage(making, place)
  }
}
