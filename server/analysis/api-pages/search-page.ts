import { frame, type Page } from './frame.ts'
import { compareNames, Html, html } from './html.ts'
import { anchorOf, hasPage, type Place } from './site.ts'
import { addressFrom, type PageContext } from './view.ts'

/** An entry of the search index: name, kind, name of the enclosing element, and URL. */
type Symbol = [name: string, kind: string, context: string, address: string]

/**
 * Renders the page of all symbols. The script also searches the members, which are embedded as JSON, because documentation pages have no origin and
 * cannot fetch with the reader's cookies.
 */
export function renderSearchPage({ site }: PageContext): Page {
  const path = 'search.html'
  const places = site.libraries.flatMap(({ places: some }) => some).filter(({ declaration }) => declaration.name)
  const declared = places.map((place): Symbol => {
    const { name, kind } = place.declaration
    return [name, kind, place.libraryPage.library.name, addressFrom(path, place)]
  })
  const members = places.flatMap((place) => membersOf(place, path))
  return renderSymbolsPage(site.about, [...libraryEntries(site.libraries), ...declared], members)
}

/** Renders the page of all symbols. `top` symbols are listed, `below` symbols are only found by the search. */
export function renderSymbolsPage(about: { name: string; version: string }, top: readonly Symbol[], below: readonly Symbol[]): Page {
  const sorted = top.toSorted(([a], [b]) => compareNames(a, b)).slice(0, maxListed)
  const data = JSON.stringify([...sorted, ...below.slice(0, maxSearched)]).replace(/[<>&\u2028\u2029]/g, encoded)
  return frame(about, {
    path: 'search.html',
    title: `All symbols - ${about.name} ${about.version}`,
    crumbs: [{ label: 'All symbols', href: null }],
    contents: [],
    main: html`<h1>All symbols</h1>
      <div id="page-results" role="status" hidden></div>
      <ul class="symbols" id="page-symbols">
        ${sorted.map(
          ([name, kind, context, address]) =>
            html`<li><a href="${address}">${name}</a> <span>${context ? `${kind} · ${context}` : kind}</span></li> `,
        )}
      </ul>
      <script type="application/json" id="page-index">
        ${new Html(data)}
      </script>`,
  })
}

const maxListed = 20_000
const maxSearched = 50_000

const libraryEntries = (libraries: PageContext['site']['libraries']) =>
  libraries.map(({ library, path }): Symbol => [library.name, 'library', `lib/${library.path}`, path])

function membersOf(place: Place, path: string): Symbol[] {
  if (!hasPage(place.declaration)) return []
  const { name } = place.declaration
  const isListed = ({ name: member, kind }: Place['members'][number]) => kind !== 'constructor' || member !== name
  return place.members
    .filter(isListed)
    .map((member): Symbol => [member.name, member.kind, name, addressFrom(path, { path: place.path, anchor: anchorOf(member) })])
}

/** Escapes characters that could end the script element. */
const encoded = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
