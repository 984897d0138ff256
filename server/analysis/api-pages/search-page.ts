import { z } from 'zod'
import { frame, type Page } from './frame.ts'
import { compareNames, Html, html } from './html.ts'
import { declarationAnchor, hasPage, type Place } from './site.ts'
import { relativeAddress, type PageContext } from './view.ts'

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
    return [name, kind, place.libraryPage.library.name, relativeAddress(path, place)]
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
    .map((member): Symbol => [
      member.name,
      member.kind,
      name,
      relativeAddress(path, { path: place.path, anchor: declarationAnchor(member) }),
    ])
}

/** Escapes characters that could end the script element. */
const encoded = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Kinds of elements by their number in dartdoc's search index. The last of equal names is that of top-level declarations. */
export const dartdocKinds =
  `accessor constant constructor class dynamic enum extension extension_type function library method mixin never package parameter prefix
  property sdk topic constant property typedef type_parameter`
    .split(/\s+/)
    .map((kind) => kind.replace('_', ' '))

/** Words of this server's own pages for which dartdoc has another one. */
const dartdocWords: Record<string, string> = {
  variable: 'property',
  getter: 'property',
  setter: 'property',
  field: 'property',
  operator: 'method',
  'enum value': 'constant',
}

const withinTypes = new Set(['constructor', 'method', 'operator', 'field', 'enum value', 'accessor'])

/**
 * Returns the symbols of the page of all symbols in the format of dartdoc's `index.json`, which tools read. Made from the stored page, so that
 * documentation that an earlier version of this server generated has it, too.
 */
export function symbolIndex(page: string): string {
  const [, data = '[]'] = /<script type="application\/json" id="page-index">([^]*?)<\/script>/.exec(page) ?? []
  const symbols = indexShape.parse(JSON.parse(data))
  const isLibrary = ([, kind]: Symbol) => kind === 'library'
  const libraries = new Map(symbols.filter(isLibrary).map((symbol) => [symbol[0], symbol]))
  const types = new Map(symbols.filter((symbol) => !isLibrary(symbol) && !withinTypes.has(symbol[1])).map((symbol) => [symbol[0], symbol]))
  const enclosing = ([, kind, context]: Symbol) =>
    kind === 'library'
      ? undefined
      : ((withinTypes.has(kind) ? types.get(context) : undefined) ?? libraries.get(context) ?? types.get(context))
  return JSON.stringify(
    symbols.map((symbol) => {
      const encloser = enclosing(symbol)
      const outer = encloser && enclosing(encloser)
      return {
        ...indexed(symbol, encloser),
        qualifiedName: [outer?.[0], encloser?.[0], symbol[0]].filter(Boolean).join('.'),
        packageRank: 0,
        desc: '',
        ...(encloser && { enclosedBy: indexed(encloser, outer) }),
      }
    }),
  )
}

const element = { name: z.string(), kind: z.int().describe('Kind by its number in dartdoc.'), href: z.string() }

export const symbolIndexSchema = z.array(
  z.object({
    ...element,
    qualifiedName: z.string(),
    packageRank: z.int(),
    desc: z.string(),
    enclosedBy: z.object(element).optional().describe('Omitted for libraries.'),
  }),
)

const indexShape = z.array(z.tuple([z.string(), z.string(), z.string(), z.string()]))

function indexed([name, kind, , href]: Symbol, encloser: Symbol | undefined) {
  const word = dartdocWords[kind] ?? kind
  return { name, kind: encloser?.[1] === 'library' ? dartdocKinds.lastIndexOf(word) : dartdocKinds.indexOf(word), href }
}
