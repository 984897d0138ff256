import type { Api, Declaration, DeclarationKind, Library, Member } from '../dart/api.ts'
import { nameOf } from '../dart/type-arguments.ts'
import { hiddenIn } from './directives.ts'
import { type HiddenInheritance, hiddenInheritance } from './hidden-types.ts'

/** What is known of a package beside its API. */
export type About = {
  name: string
  version: string
  description: string | null
  /** Markdown. */
  readme: string | null
  /** Where its sources are, as the pubspec says; sources are linked when it is a place whose addresses are known. */
  repository: string | null
}

/** The pages of a package: where each library and each declaration is shown, and what names mean. */
export type Site = {
  about: About
  libraries: Shelf[]
  /** Where a declaration is shown; null when it is not. */
  placeOf: (declaration: Declaration) => Place | null
  /** What a name means in a library, else in the whole package when only one thing has it. */
  find: (name: string, from: Shelf | null) => Place | null
  /** The types that extend, implement or mix in a type, or stand on it, by relation. */
  heirsOf: (place: Place) => readonly { heir: Place; relation: Relation }[]
  /** The types of this package that a type names as its supertypes. */
  supertypesOf: (place: Place) => readonly { type: string; relation: Relation; place: Place | null }[]
  /** The nearest types with a page that a type inherits from, directly or through types without one. */
  parentsOf: (place: Place) => readonly Place[]
}

export type Relation = Declaration['supertypes'][number]['relation']

/** A library with its folder and what it shows. */
export type Shelf = { library: Library; folder: string; path: string; places: Place[]; shown: { place: Place; isOwn: boolean }[] }

/**
 * Where a declaration is shown: a page of its own, or an anchor on that of its library. `shelf` is the library that it belongs to, `members` what
 * is shown there: those that it declares, and those that it inherits from types without a page.
 */
export type Place = { declaration: Declaration; shelf: Shelf; path: string; anchor: string | null; members: readonly Member[] }

const withPage: ReadonlySet<DeclarationKind> = new Set(['class', 'mixin', 'extension', 'extension type', 'enum'])

/** Whether declarations of this kind have a page of their own. */
export const hasPage = ({ kind }: Pick<Declaration, 'kind'>): boolean => withPage.has(kind)

/**
 * Arranges an API for its pages. What several libraries export belongs to the one that declares it, else to the package's main library, else to
 * the first by path; the others refer to it.
 */
export function arrange(api: Api, about: About): Site {
  const folders = distinct()
  const libraries = api.libraries
    .filter(({ doc }) => !hiddenIn(doc))
    .map((library): Shelf => {
      const folder = folders(library.path.replace(/\.dart$/, ''))
      return { library, folder, path: `${folder}/index.html`, places: [], shown: [] }
    })
  const owners = ownersOf(libraries, about.name)
  const places = new Map<string, Place>()
  const names = new Set(libraries.flatMap(({ library }) => library.declarations.map(({ name }) => name)))
  const inheritance = remembered(hiddenInheritance(api.hidden, (name) => names.has(name)))
  for (const shelf of libraries) placeAll(shelf, owners, places, inheritance)
  for (const shelf of libraries)
    for (const declaration of shelf.library.declarations) {
      const found = places.get(identityOf(declaration))
      if (found) shelf.shown.push({ place: found, isOwn: found.shelf === shelf })
    }
  const find = finder(libraries)
  return {
    about,
    libraries,
    find,
    placeOf: (declaration) => places.get(identityOf(declaration)) ?? null,
    ...kinship(places, find, inheritance),
  }
}

type Inheritance = (of: Declaration) => HiddenInheritance

function remembered(read: Inheritance): Inheritance {
  const known = new WeakMap<Declaration, HiddenInheritance>()
  return (of) => {
    const found = known.get(of) ?? read(of)
    known.set(of, found)
    return found
  }
}

/** The members that the page of a type shows: not what its author hides. */
function shownMembers(declaration: Declaration, inheritance: Inheritance): Member[] {
  const shown = new Map<string, Member[]>()
  for (const member of declaration.members) listIn(shown, anchorOf(member)).push(member)
  for (const member of inheritance(declaration).members) if (!shown.has(anchorOf(member))) shown.set(anchorOf(member), [member])
  return [...shown.values()].flat().filter(({ doc }) => !hiddenIn(doc))
}

/** The same declaration may be exported by several libraries. */
const identityOf = ({ name, kind, source }: Declaration) => `${source.path}:${source.line}:${kind}:${name}`

/** The library that each declaration belongs to. */
function ownersOf(libraries: Shelf[], main: string): ReadonlyMap<string, Shelf> {
  const owners = new Map<string, Shelf>()
  const give = (shelf: Shelf, deserves: (declaration: Declaration) => boolean) => {
    for (const declaration of shelf.library.declarations) {
      const identity = identityOf(declaration)
      if (!owners.has(identity) && deserves(declaration)) owners.set(identity, shelf)
    }
  }
  for (const shelf of libraries) give(shelf, ({ source }) => source.path === `lib/${shelf.library.path}`)
  for (const shelf of libraries) if (shelf.library.path === `${main}.dart`) give(shelf, () => true)
  for (const shelf of libraries) give(shelf, () => true)
  return owners
}

function placeAll(shelf: Shelf, owners: ReadonlyMap<string, Shelf>, places: Map<string, Place>, inheritance: Inheritance): void {
  const [files, anchors] = [distinct('index'), distinct()]
  for (const declaration of shelf.library.declarations) {
    const identity = identityOf(declaration)
    if (places.has(identity) || owners.get(identity) !== shelf || hiddenIn(declaration.doc)) continue
    const isPage = hasPage(declaration)
    const made = {
      declaration,
      shelf,
      path: isPage ? `${shelf.folder}/${files(declaration.name || 'extension')}.html` : shelf.path,
      anchor: isPage ? null : anchors(anchorOf(declaration)),
      members: shownMembers(declaration, inheritance),
    }
    places.set(identity, made)
    shelf.places.push(made)
  }
}

/** The anchor of something on its page. A setter has the name of its getter. */
export const anchorOf = ({ name, kind }: { name: string; kind: string }): string =>
  `${name.replace(/\s+/g, '')}${kind === 'setter' ? '=' : ''}`

/** Gives each name once, in letters that stand in an address as they are; who asks for one again gets it with a number. */
function distinct(...taken: string[]): (name: string) => string {
  const used = new Set(taken)
  return (name) => {
    const plain = name.replace(/[^\w$=.-]+/g, '-').slice(0, 120) || '-'
    let free = plain
    for (let count = 2; used.has(free.toLowerCase()); count++) free = `${plain}-${count}`
    used.add(free.toLowerCase())
    return free
  }
}

function finder(libraries: Shelf[]): Site['find'] {
  const inLibrary = new Map(
    libraries.map((shelf) => [shelf, new Map(shelf.shown.map(({ place: found }) => [found.declaration.name, found]))]),
  )
  const anywhere = new Map<string, Place | null>()
  for (const { places } of libraries)
    for (const found of places) {
      const { name } = found.declaration
      anywhere.set(name, anywhere.has(name) ? null : found)
    }
  return (name, from) => (from && inLibrary.get(from)?.get(name)) ?? anywhere.get(name) ?? null
}

function kinship(
  places: ReadonlyMap<string, Place>,
  find: Site['find'],
  inheritance: Inheritance,
): Pick<Site, 'heirsOf' | 'supertypesOf' | 'parentsOf'> {
  const heirs = new Map<Place, { heir: Place; relation: Relation }[]>()
  const supertypes = new Map<Place, ReturnType<Site['supertypesOf']>>()
  const parents = new Map<Place, Place[]>()
  for (const heir of places.values()) {
    const { declaration, shelf } = heir
    const found = declaration.supertypes.map(({ type, relation }) => ({ type, relation, place: find(nameOf(type), shelf) }))
    supertypes.set(heir, found)
    for (const { place: ancestor, relation } of found) if (ancestor && ancestor !== heir) listIn(heirs, ancestor).push({ heir, relation })
    const direct = found.flatMap(({ relation, place }) => (relation === 'represents' ? [] : (place ?? [])))
    parents.set(heir, [...direct, ...inheritance(declaration).above.flatMap((name) => find(name, shelf) ?? [])])
  }
  return {
    heirsOf: (of) => heirs.get(of) ?? [],
    supertypesOf: (of) => supertypes.get(of) ?? [],
    parentsOf: (of) => parents.get(of) ?? [],
  }
}

function listIn<Key, Value>(map: Map<Key, Value[]>, key: Key): Value[] {
  const list = map.get(key) ?? []
  map.set(key, list)
  return list
}
