import type { Api } from '../dart/api.ts'
import { docsOf, templatesOf } from './directives.ts'
import { frame, sectionId, type Page } from './frame.ts'
import { renderLibraryPage } from './library-page.ts'
import { renderSearchPage } from './search-page.ts'
import { type About, buildSite, hasPage } from './site.ts'
import { renderTypePage } from './type-page.ts'
import { codeHighlighter } from '../../registry/markdown/highlight.ts'
import { renderMarkdown } from '../../registry/markdown/render.ts'
import { documentationLinks } from '../../registry/markdown/links.ts'
import { Html, html } from './html.ts'
import { type PageContext, viewOf, withLinks } from './view.ts'

/**
 * Generates the API documentation of a package as complete pages, which are safe to serve whatever the package contains. The same API always gives
 * the same pages. Their style sheet and script are expected at `../../-/` relative to the index (server/analysis/docs).
 */
export async function* buildPages(api: Api, about: About): AsyncGenerator<Page> {
  const highlight = await codeHighlighter([...docsOf(api), about.readme ?? ''], maxHighlighted)
  const pageContext: PageContext = { site: buildSite(api, about), comments: { templates: templatesOf(api), highlight, withFootnotes: 0 } }
  yield renderIndexPage(pageContext)
  yield renderSearchPage(pageContext)
  for (const libraryPage of pageContext.site.libraries) {
    yield renderLibraryPage(pageContext, libraryPage)
    for (const place of libraryPage.places) if (hasPage(place.declaration)) yield renderTypePage(pageContext, place)
  }
}

/** Renders the start page: the list of libraries and the README. */
function renderIndexPage(pageContext: PageContext): Page {
  const { about, libraries } = pageContext.site
  const view = viewOf(pageContext, 'index.html')
  const [title, readme] = [`${about.name} ${about.version}`, about.readme?.slice(0, maxReadme) ?? null]
  const links = documentationLinks(about.repository, 'README.md')
  const rendered = readme === null ? null : new Html(renderMarkdown(readme, links, pageContext.comments.highlight))
  return frame(about, {
    path: view.path,
    title: `${title} - Dart API docs`,
    crumbs: [],
    contents: [
      { id: sectionId('Libraries'), label: 'Libraries', entries: [] },
      ...(readme === null ? [] : [{ id: sectionId('README'), label: 'README', entries: [] }]),
    ],
    main: html`<h1>${title} <span class="kind">API documentation</span></h1>
      ${about.description === null ? null : html`<p class="lead">${about.description}</p>`}
      <section aria-labelledby="${sectionId('Libraries')}">
        <h2 id="${sectionId('Libraries')}">Libraries</h2>
        ${
          libraries.length === 0
            ? html`<p>This package has no public libraries.</p>`
            : html`<dl class="list">
                ${libraries.map(
                  ({ library, path }) =>
                    html`<dt><a href="${path}">${library.name}</a></dt>
                      <dd>${view.summary(library.doc)}</dd> `,
                )}
              </dl>`
        }
      </section>
      ${
        rendered &&
        html`<section aria-labelledby="${sectionId('README')}">
          <h2 id="${sectionId('README')}">README</h2>
          <div class="doc readme">${withLinks(rendered, pageContext.site, view.path)}</div>
        </section>`
      }`,
  })
}

const maxReadme = 500_000
/** Maximum number of characters of code to highlight in the documentation of a package, which takes a few seconds. */
const maxHighlighted = 1_000_000
