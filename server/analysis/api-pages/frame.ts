import { type Html, html } from './html.ts'
import type { About } from './site.ts'
import { pathToRoot, type View } from './view.ts'
import type { Declaration, Member } from '../dart/api.ts'

/** The content of a documentation page, with its title, breadcrumbs and table of contents. */
type Framed = {
  path: string
  title: string
  crumbs: readonly { label: string; href: string | null }[]
  contents: readonly Section[]
  main: Html
}

/** A section in the table of contents, with its entries. */
export type Section = { id: string; label: string; entries: readonly { id: string; label: string }[] }

export type Page = { path: string; content: string }

/** Renders a complete page. Ids of the layout contain a hyphen, so they never equal a Dart name. */
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

/** An element with an anchor on a page. */
type Entry = { described: Declaration | Member; anchor: string }

/** A section of a page. Empty sections are omitted. */
export type Group = { title: string; entries: readonly Entry[] }

/** Renders the sections of a page and their entries in the table of contents. */
export function renderGroups(groups: readonly Group[], view: View): { main: Html[]; contents: Section[] } {
  const filled = groups.filter(({ entries }) => entries.length > 0)
  return {
    main: filled.map(
      ({ title, entries }) =>
        html`<section aria-labelledby="${sectionId(title)}">
          <h2 id="${sectionId(title)}">${title}</h2>
          ${entries.map((entry) => renderEntry(entry, view))}
        </section> `,
    ),
    contents: filled.map(({ title, entries }) => ({
      id: sectionId(title),
      label: title,
      entries: entries.map(({ described, anchor }) => ({ id: anchor, label: described.name })),
    })),
  }
}

/** Returns the id of a section. The id contains a hyphen, so it never equals the anchor of a Dart name. */
export const sectionId = (title: string): string => `section-${title.toLowerCase().replace(/\W+/g, '-')}`

function renderEntry({ described, anchor }: Entry, view: View): Html {
  return html`<article class="entry" id="${anchor}">
    <h3><a href="#${encodeURIComponent(anchor)}">${renderName(described)}</a></h3>
    ${view.signature(described)}
    ${view.deprecation(described)}${view.comment(described.doc, 3, described.signature)}${view.source(described)}
  </article> `
}

/** Renders the name of an element, struck through if it is deprecated. */
export const renderName = ({ name, deprecated }: Pick<Declaration, 'name' | 'deprecated'>): Html =>
  deprecated === null ? html`${name || unnamed}` : html`<s>${name || unnamed}</s>`

const unnamed = '(unnamed)'
