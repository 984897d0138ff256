import type { Section } from './frame.ts'
import { type Html, html } from './html.ts'
import type { Declaration, Member } from '../dart/api.ts'
import type { View } from './view.ts'

/** An element with an anchor on a page. */
export type Entry = { described: Declaration | Member; anchor: string }

/** A section of a page. Empty sections are omitted. */
export type Group = { title: string; entries: readonly Entry[] }

/** Renders the sections of a page and their entries in the table of contents. */
export function renderGroups(groups: readonly Group[], view: View): { main: Html[]; contents: Section[] } {
  const filled = groups.filter(({ entries }) => entries.length > 0)
  return {
    main: filled.map(
      ({ title, entries }) =>
        html`<section aria-labelledby="${idOf(title)}">
          <h2 id="${idOf(title)}">${title}</h2>
          ${entries.map((entry) => renderEntry(entry, view))}
        </section> `,
    ),
    contents: filled.map(({ title, entries }) => ({
      id: idOf(title),
      label: title,
      entries: entries.map(({ described, anchor }) => ({ id: anchor, label: described.name })),
    })),
  }
}

/** Returns the id of a section. The id contains a hyphen, so it never equals the anchor of a Dart name. */
export const idOf = (title: string): string => `section-${title.toLowerCase().replace(/\W+/g, '-')}`

function renderEntry({ described, anchor }: Entry, view: View): Html {
  return html`<article class="entry" id="${anchor}">
    <h3><a href="#${encodeURIComponent(anchor)}">${nameOf(described)}</a></h3>
    ${view.signature(described)}
    ${view.deprecation(described)}${view.comment(described.doc, 3, described.signature)}${view.source(described)}
  </article> `
}

/** Renders the name of an element, struck through if it is deprecated. */
export const nameOf = ({ name, deprecated }: Pick<Declaration, 'name' | 'deprecated'>): Html =>
  deprecated === null ? html`${name || unnamed}` : html`<s>${name || unnamed}</s>`

const unnamed = '(unnamed)'
