import { z } from 'zod'
import { frame } from './frame.ts'
import { compareNames, Html, html } from './html.ts'
import type { Page } from './page.ts'
import type { Target } from './references.ts'
import { declarationAnchor, hasPage, type LibraryPage, type Place, type Site } from './site.ts'

/** An entry of the search index: name, kind, name of the enclosing element, and URL of a page of dartdoc. */
type Symbol = [name: string, kind: string, context: string, address: string]

/** Paths of the indexes in packed documentation. They differ from the paths of all pages. */
export const librariesPath = '*libraries'
export const symbolsPath = '*symbols'
export const declarationsPath = (file: string): string => `*file:${file}`
export const isPagePath = (path: string): boolean => !path.startsWith('*')

const located = z.object({ name: z.string(), path: z.string(), anchor: z.string().nullable() })

/** The libraries with the declarations on their pages. */
export const librariesSchema = z.array(
  located.extend({ declarations: z.array(located.extend({ kind: z.string(), isDeprecated: z.boolean() })) }),
)
export type ListedLibrary = z.infer<typeof librariesSchema>[number]

/** The documented declarations in a file, by line. */
export const declarationsSchema = z.array(located.extend({ line: z.int().positive() }))
export type LocatedDeclaration = z.infer<typeof declarationsSchema>[number]

/** Returns the indexes of the declarations: by library, by file, and all symbols. */
export function* indexFiles({ libraries }: Site): Generator<Page> {
  yield { path: librariesPath, content: JSON.stringify(libraries.map(listedLibrary)) }
  yield { path: symbolsPath, content: JSON.stringify(symbolsOf(libraries)) }
  for (const [file, declarations] of Map.groupBy(libraries.flatMap(declarationsIn), ({ source }) => source.path)) {
    const sorted = declarations.map(({ source, ...one }) => ({ ...one, line: source.line })).toSorted((a, b) => a.line - b.line)
    yield { path: declarationsPath(file), content: JSON.stringify(sorted satisfies LocatedDeclaration[]) }
  }
}

const listedLibrary = ({ library, path, places }: LibraryPage): ListedLibrary => ({
  name: library.name,
  path,
  anchor: null,
  declarations: places
    .filter(({ declaration }) => declaration.name)
    .map(({ declaration: { name, kind, deprecated }, path: page, anchor }) => ({
      name,
      kind,
      path: page,
      anchor,
      isDeprecated: deprecated !== null,
    }))
    .toSorted((a, b) => compareNames(a.name, b.name)),
})

const declarationsIn = ({ places }: LibraryPage) =>
  places.flatMap(({ declaration: { name, source, members }, path, anchor }) => [
    { name, path, anchor, source },
    ...members.map((member) => ({
      name: member.kind === 'constructor' || name === '' ? member.name : `${name}.${member.name}`,
      path,
      anchor: declarationAnchor(member),
      source: member.source,
    })),
  ])

/** Returns all symbols, with addresses as on pages of dartdoc, which tools read. */
function symbolsOf(libraries: Site['libraries']): Symbol[] {
  const places = libraries.flatMap(({ places: some }) => some).filter(({ declaration }) => declaration.name)
  const declared = places.map((place): Symbol => {
    const { name, kind } = place.declaration
    return [name, kind, place.libraryPage.library.name, dartdocAddress(place)]
  })
  return [
    ...libraries.map(({ library, path }): Symbol => [
      library.name,
      'library',
      `lib/${library.path}`,
      dartdocAddress({ path, anchor: null }),
    ]),
    ...declared,
  ]
    .toSorted(([a], [b]) => compareNames(a, b))
    .slice(0, maxListed)
    .concat(places.flatMap(membersOf).slice(0, maxSearched))
}

/** Returns the address of a page in the layout of dartdoc. The addresses lead on to the pages in the console. */
const dartdocAddress = ({ path, anchor }: Target): string =>
  `${path.includes('/') ? path : `${path}/index`}.html${anchor === null ? '' : `#${encodeURIComponent(anchor)}`}`

/**
 * Renders the page of all symbols of dartdoc. `top` symbols are listed, `below` symbols are only found by the search. The script reads them from the
 * page, because documentation pages have no origin and cannot fetch with the reader's cookies.
 */
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

function membersOf(place: Place): Symbol[] {
  if (!hasPage(place.declaration)) return []
  const { name } = place.declaration
  const isListed = ({ name: member, kind }: Place['members'][number]) => kind !== 'constructor' || member !== name
  return place.members
    .filter(isListed)
    .map((member): Symbol => [member.name, member.kind, name, dartdocAddress({ path: place.path, anchor: declarationAnchor(member) })])
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
 * Returns the symbols in the format of dartdoc's `index.json`, which tools read, from the stored index, or from the page of all symbols of dartdoc or of an
 * earlier version of this server.
 */
export function symbolIndex(stored: string): string {
  const [, embedded] = /<script type="application\/json" id="page-index">([^]*?)<\/script>/.exec(stored) ?? []
  const symbols = indexShape.parse(JSON.parse(embedded ?? stored))
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
