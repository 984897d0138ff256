import type { Api } from '../dart/api.ts'
import { docsOf, templatesOf } from './directives.ts'
import { sectionId, type Page, pageFile } from './page.ts'
import { renderLibraryPage } from './library-page.ts'
import { indexFiles } from './symbols.ts'
import { type About, buildSite, hasPage } from './site.ts'
import { renderTypePage } from './type-page.ts'
import { codeHighlighter } from '../../registry/markdown/highlight.ts'
import { html } from './html.ts'
import { type PageContext, viewOf } from './view.ts'

/**
 * Generates the API documentation of a package as pages with sanitized HTML, which the console shows, and the indexes of its declarations. The same API
 * always gives the same pages.
 */
export async function* buildPages(api: Api, about: About): AsyncGenerator<Page> {
  const highlight = await codeHighlighter([...docsOf(api)], maxHighlighted)
  const pageContext: PageContext = { site: buildSite(api, about), comments: { templates: templatesOf(api), highlight, withFootnotes: 0 } }
  yield renderIndexPage(pageContext)
  yield* indexFiles(pageContext.site)
  for (const libraryPage of pageContext.site.libraries) {
    yield renderLibraryPage(pageContext, libraryPage)
    for (const place of libraryPage.places) if (hasPage(place.declaration)) yield renderTypePage(pageContext, place)
  }
}

/** Renders the start page: the list of libraries. */
function renderIndexPage(pageContext: PageContext): Page {
  const { about, libraries } = pageContext.site
  const view = viewOf(pageContext, '')
  return pageFile({
    path: view.path,
    title: about.name,
    kind: 'package',
    libraryPage: null,
    contents: [],
    main: html`<h1>${about.name} <span class="kind">API documentation</span></h1>
      ${about.description === null ? null : html`<p class="lead">${about.description}</p>`}
      <section aria-labelledby="${sectionId('Libraries')}">
        <h2 id="${sectionId('Libraries')}">Libraries</h2>
        ${
          libraries.length === 0
            ? html`<p>This package has no public libraries.</p>`
            : html`<dl class="list">
                ${libraries.map(
                  ({ library, path }) =>
                    html`<dt><a href="${view.to({ path, anchor: null })}">${library.name}</a></dt>
                      <dd>${view.summary(library.doc)}</dd> `,
                )}
              </dl>`
        }
      </section>`,
  })
}

/** Maximum number of characters of code to highlight in the documentation of a package, which takes a few seconds. */
const maxHighlighted = 1_000_000
