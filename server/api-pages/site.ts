import type { Api, Declaration, DeclarationKind, Library, Member } from '../dart/api.ts'
import { nameOf } from '../dart/type-arguments.ts'
import { hiddenIn } from './directives.ts'
import { type HiddenInheritance, hiddenInheritance } from './hidden-types.ts'

/** Package metadata shown in the documentation. */
export type About = {
  name: string
  version: string
  description: string | null
  /** Markdown. */
  readme: string | null
  /** Repository URL from the pubspec. Source links are generated for known hosting services. */
  repository: string | null
}

/** The documentation of a package: the page of each library and declaration, and the resolution of names. */
export type Site = {
  about: About
  libraries: Shelf[]
  /** Returns the place of a declaration, or null if it is not shown. */
  placeOf: (declaration: Declaration) => Place | null
  /** Finds a name in a library, or else in the whole package if it is unique there. */
  find: (name: string, from: Shelf | null) => Place | null
  /** Returns the types that extend, implement, mix in or constrain on a type, with their relation. */
  heirsOf: (place: Place) => readonly { heir: Place; relation: Relation }[]
  /** Returns the supertypes that a type declares. `place` is null for types outside of the package. */
  supertypesOf: (place: Place) => readonly { type: string; relation: Relation; place: Place | null }[]
  /** Returns the nearest supertypes that have a page, directly or through types without a page. */
  parentsOf: (place: Place) => readonly Place[]
}

export type Relation = Declaration['supertypes'][number]['relation']

/** The page of a library: its output folder, its declarations (`places`), and all that it exports (`shown`). */
export type Shelf = { library: Library; folder: string; path: string; places: Place[]; shown: { place: Place; isOwn: boolean }[] }

/**
 * The place of a declaration: a page of its own, or an anchor on the page of its library. `members` are the shown members: declared ones, and those
 * inherited from types without a page.
 */
export type Place = { declaration: Declaration; shelf: Shelf; path: string; anchor: string | null; members: readonly Member[] }

const withPage: ReadonlySet<DeclarationKind> = new Set(['class', 'mixin', 'extension', 'extension type', 'enum'])

/** Whether declarations of this kind have a page of their own. */
export const hasPage = ({ kind }: Pick<Declaration, 'kind'>): boolean => withPage.has(kind)

/**
 * Assigns the declarations of an API to pages. A declaration that several libraries export is shown in the library that declares it, else in the
 * package's main library, else in the first by path. The other libraries link to it.
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

/** Returns the members shown on the page of a type, without those hidden by `@nodoc`. */
function shownMembers(declaration: Declaration, inheritance: Inheritance): Member[] {
  const shown = new Map<string, Member[]>()
  for (const member of declaration.members) listIn(shown, anchorOf(member)).push(member)
  for (const member of inheritance(declaration).members) if (!shown.has(anchorOf(member))) shown.set(anchorOf(member), [member])
  return [...shown.values()].flat().filter(({ doc }) => !hiddenIn(doc))
}

/** Identifies a declaration by its source location: several libraries may export the same one. */
const identityOf = ({ name, kind, source }: Declaration) => `${source.path}:${source.line}:${kind}:${name}`

/** Determines the library that each declaration is shown in. */
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

/** Returns the anchor of an element. A setter may have the same name as a getter, so its anchor ends with `=`. */
export const anchorOf = ({ name, kind }: { name: string; kind: string }): string =>
  `${name.replace(/\s+/g, '')}${kind === 'setter' ? '=' : ''}`

/** Returns a function that makes names unique and safe for URLs. Repeated names get a number. Comparison ignores case, as some file systems do. */
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
