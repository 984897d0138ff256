import { type Html, html } from './html.ts'
import type { Page, Section } from './page.ts'
import type { Target } from './references.ts'
import type { About } from './site.ts'

/** The content of a page of dartdoc, with its title, breadcrumbs and table of contents. */
type Framed = {
  path: string
  title: string
  crumbs: readonly { label: string; href: string | null }[]
  contents: readonly Section[]
  main: Html
}

/** Renders a complete page around content of dartdoc. Ids of the layout contain a hyphen, so they never equal a Dart name. */
export function frame({ name, version }: Pick<About, 'name' | 'version'>, { path, title, crumbs, contents, main }: Framed): Page {
  const up = pathToRoot(path)
  const assets = `${up}../../-/`
  const packagePage = `${up}../../../packages/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`
  const steps = [{ label: `${name} ${version}`, href: path === 'index.html' ? null : `${up}index.html` }, ...crumbs]
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <link rel="stylesheet" href="${assets}docs.css" />
        <script src="${assets}docs.js" data-search="${up}search.html"></script>
      </head>
      <body>
        <a class="skip" href="#page-main">Skip to content</a>
        <header>
          <nav class="crumbs" aria-label="Breadcrumb">
            <ol>
              ${steps.map(crumb)}
            </ol>
          </nav>
          <div class="tools"><a class="index" href="${up}search.html">All symbols</a></div>
        </header>
        <div class="page">
          <main id="page-main">
            ${contents.length > 0 ? html`<p class="to-contents"><a href="#page-contents">On this page</a></p>` : null}${main}
          </main>
          ${tableOf(contents)}
        </div>
        <footer><a href="${packagePage}">${name} ${version} on the package server</a></footer>
      </body>
    </html> `
  return { path, content: page.text }
}

const crumb = ({ label, href }: Framed['crumbs'][number]): Html =>
  href === null ? html`<li><span aria-current="page">${label}</span></li>` : html`<li><a href="${href}">${label}</a></li>`

/** Maximum number of entries in a table of contents. If there are more, only the sections are listed. */
const maxEntries = 400

function tableOf(contents: readonly Section[]): Html | null {
  if (contents.length === 0) return null
  const isShort = contents.reduce((sum, { entries }) => sum + entries.length, 0) <= maxEntries
  const sections = contents.map(
    ({ id, label, entries }) =>
      html`<li>
        <a href="#${encodeURIComponent(id)}">${label}</a>${
          isShort && entries.length > 0
            ? html`<ul>
                ${entries.map((entry) => html`<li><a href="#${encodeURIComponent(entry.id)}">${entry.label}</a></li>`)}
              </ul>`
            : null
        }
      </li>`,
  )
  return html`<nav class="contents" id="page-contents" aria-labelledby="page-contents-title">
    <h2 id="page-contents-title">On this page</h2>
    <ul>
      ${sections}
    </ul>
  </nav>`
}

/** Returns a relative URL, so that pages work below any base URL. */
export function relativeAddress(from: string, { path, anchor }: Target): string {
  const fragment = anchor === null ? '' : `#${encodeURIComponent(anchor)}`
  if (path === from) return fragment || (path.split('/').at(-1) ?? '')
  const folder = from.slice(0, from.lastIndexOf('/') + 1)
  const relative = folder && path.startsWith(folder) ? path.slice(folder.length) : `${pathToRoot(from)}${path}`
  return `${relative}${fragment}`
}

/** Returns the relative URL from a page to the folder of `index.html`. */
const pathToRoot = (path: string): string => '../'.repeat(path.split('/').length - 1)
