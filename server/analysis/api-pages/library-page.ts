import { type Group, sectionId, renderName, type Page, pageFile, renderGroups } from './page.ts'
import { compareNames, html, type Html } from './html.ts'
import { hasPage, type LibraryPage, type Place } from './site.ts'
import { type PageContext, type View, viewOf } from './view.ts'

/** Renders the page of a library: its types with a summary each, and all other declarations in full. */
export function renderLibraryPage(pageContext: PageContext, libraryPage: LibraryPage): Page {
  const view = viewOf(pageContext, libraryPage.path, { libraryPage })
  const { library, shown } = libraryPage
  const own = shown.flatMap(({ place, isOwn }) => (isOwn ? [place] : []))
  const lists = typeLists(own).map((list) => ({ ...list, id: sectionId(list.title) }))
  const { main, contents } = renderGroups(groupsOf(own), view)
  const exported = shown.flatMap(({ place, isOwn }) => (isOwn ? [] : [place]))
  return pageFile({
    path: libraryPage.path,
    title: library.name,
    kind: 'library',
    libraryPage,
    contents: [
      ...lists.map(({ id, title }) => ({ id, label: title, entries: [] })),
      ...contents,
      ...(exported.length > 0 ? [{ id: sectionId('Exported'), label: 'Exported', entries: [] }] : []),
    ],
    main: html`<h1>${library.name} <span class="kind">library</span></h1>
      <pre class="signature"><code>import 'package:${pageContext.site.about.name}/${library.path}';</code></pre>
      <div class="doc">${view.comment(library.doc, 1)}</div>
      ${lists.map((list) => typeList(list, view))}${main}${exportedPart(exported, library.foreignExports, view)}`,
  })
}

const titles = [
  ['class', 'Classes'],
  ['mixin', 'Mixins'],
  ['extension', 'Extensions'],
  ['extension type', 'Extension types'],
  ['enum', 'Enums'],
] as const

const typeLists = (places: readonly Place[]) =>
  titles
    .map(([kind, title]) => ({ title, places: byName(places.filter(({ declaration }) => declaration.kind === kind)) }))
    .filter((list) => list.places.length > 0)

function typeList({ title, id, places }: { title: string; id: string; places: readonly Place[] }, view: View): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    <dl class="list">
      ${places.map(
        (place) =>
          html`<dt>${linkTo(place, view)}</dt>
            <dd>${view.summary(place.declaration.doc)}</dd> `,
      )}
    </dl>
  </section> `
}

/** Renders a link to a declaration. */
export const linkTo = (place: Place, view: View): Html => html`<a href="${view.to(place)}">${renderName(place.declaration)}</a>`

function groupsOf(places: readonly Place[]): Group[] {
  const group = (title: string, ...kinds: string[]): Group => ({
    title,
    entries: byName(places.filter(({ declaration }) => kinds.includes(declaration.kind))).map(({ declaration, anchor }) => ({
      described: declaration,
      anchor: anchor ?? '',
    })),
  })
  return [
    group('Functions', 'function'),
    group('Typedefs', 'typedef'),
    group('Constants', 'constant'),
    group('Properties', 'variable', 'getter', 'setter'),
  ]
}

/** Sorts by name, ignoring case. */
const byName = (places: readonly Place[]): Place[] =>
  places
    .filter(({ declaration }) => hasPage(declaration) || declaration.name !== '')
    .toSorted((a, b) => compareNames(a.declaration.name, b.declaration.name))

/** Renders the section with the library's exports that other libraries declare. */
function exportedPart(places: readonly Place[], foreign: readonly string[], view: View): Html | null {
  if (places.length === 0 && foreign.length === 0) return null
  const homes = [...Map.groupBy(places, ({ libraryPage }) => libraryPage)]
  return html`<section aria-labelledby="${sectionId('Exported')}">
    <h2 id="${sectionId('Exported')}">Exported</h2>
    ${homes.map(
      ([libraryPage, some]) =>
        html`<p>From <a href="${view.to({ path: libraryPage.path, anchor: null })}">${libraryPage.library.name}</a>:</p>
          <ul class="names">
            ${byName(some).map((place) => html`<li>${linkTo(place, view)}</li>`)}
          </ul> `,
    )}${
      foreign.length > 0
        ? html`<p>From other packages:</p>
            <ul>
              ${foreign.map((uri) => html`<li><code>${uri}</code></li>`)}
            </ul> `
        : null
    }
  </section> `
}
