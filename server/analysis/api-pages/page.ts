import { z } from 'zod'
import type { Declaration, Member } from '../dart/api.ts'
import { type Html, html } from './html.ts'
import type { LibraryPage } from './site.ts'
import type { View } from './view.ts'

/** A file of packed documentation. */
export type Page = { path: string; content: string }

const section = z.object({ id: z.string(), label: z.string(), entries: z.array(z.object({ id: z.string(), label: z.string() })) })

/** A page of API documentation. Its HTML has placeholders for the URLs of pages and images (`insertAddresses`, `insertImages`). */
export const apiPageSchema = z.object({
  title: z.string(),
  /** Kind of the declaration, or `library` or `package`. */
  kind: z.string(),
  library: z.object({ name: z.string(), path: z.string() }).nullable(),
  contents: z.array(section),
  html: z.string(),
})
export type ApiPage = z.infer<typeof apiPageSchema>

/** A section in the table of contents, with its entries. */
export type Section = z.infer<typeof section>

type Parts = Pick<ApiPage, 'title' | 'kind' | 'contents'> & { path: string; libraryPage: LibraryPage | null; main: Html }

/** Returns the file of a page. */
export function pageFile({ path, title, kind, libraryPage, contents, main }: Parts): Page {
  const library = libraryPage && { name: libraryPage.library.name, path: libraryPage.path }
  return { path, content: JSON.stringify({ title, kind, library, contents, html: main.text } satisfies ApiPage) }
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
      entries: entries.map(({ described, anchor }) => ({ id: anchorId(anchor), label: described.name })),
    })),
  }
}

/** Returns the id of a section. It differs from the ids of the console and of all declarations. */
export const sectionId = (title: string): string => `section-${title.toLowerCase().replace(/\W+/g, '-')}`

/** Returns the id of the element with an anchor. Names of declarations could equal ids of the console. */
export const anchorId = (anchor: string): string => `api-${anchor}`

function renderEntry({ described, anchor }: Entry, view: View): Html {
  return html`<section class="entry" id="${anchorId(anchor)}">
    <h3><a href="${view.to({ path: view.path, anchor })}">${renderName(described)}</a></h3>
    ${view.signature(described)}
    ${view.deprecation(described)}${view.comment(described.doc, 3, described.signature)}${view.source(described)}
  </section> `
}

/** Renders the name of an element, struck through if it is deprecated. */
export const renderName = ({ name, deprecated }: Pick<Declaration, 'name' | 'deprecated'>): Html =>
  deprecated === null ? html`${name || unnamed}` : html`<s>${name || unnamed}</s>`

const unnamed = '(unnamed)'
