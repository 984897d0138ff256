import { type Api, type Declaration, hasMembers, type Library, type Member } from '../dart/api.ts'
import { hiddenIn } from './directives.ts'
import { argumentsOf, fillIn, nameOf } from '../dart/signature.ts'

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
  libraries: LibraryPage[]
  /** Returns the place of a declaration, or null if it is not shown. */
  placeOf: (declaration: Declaration) => Place | null
  /** Finds a name in a library, or else in the whole package if it is unique there. */
  find: (name: string, from: LibraryPage | null) => Place | null
  /** Returns the types that extend, implement, mix in or constrain on a type, with their relation. */
  subtypesOf: (place: Place) => readonly { subtype: Place; relation: Relation }[]
  /** Returns the supertypes that a type declares. `place` is null for types outside of the package. */
  supertypesOf: (place: Place) => readonly { type: string; relation: Relation; place: Place | null }[]
  /** Returns the nearest supertypes that have a page, directly or through types without a page. */
  parentsOf: (place: Place) => readonly Place[]
}

type Relation = Declaration['supertypes'][number]['relation']

/** The page of a library: its output folder, its declarations (`places`), and all that it exports (`shown`). */
export type LibraryPage = { library: Library; folder: string; path: string; places: Place[]; shown: { place: Place; isOwn: boolean }[] }

/** A page, or an anchor on the page of its library. `members` are the shown members, including those inherited from types without a page. */
export type Place = { declaration: Declaration; libraryPage: LibraryPage; path: string; anchor: string | null; members: readonly Member[] }

/** Whether declarations of this kind have a page of their own. */
export const hasPage = hasMembers

/**
 * Assigns declarations to pages. One that several libraries export is shown in the library that declares it, else in the package's main library, else
 * in the first by path.
 */
export function buildSite(api: Api, about: About): Site {
  const folders = distinct()
  const libraries = api.libraries
    .filter(({ doc }) => !hiddenIn(doc))
    .map((library): LibraryPage => {
      const folder = folders(library.path.replace(/\.dart$/, ''))
      return { library, folder, path: `${folder}/index.html`, places: [], shown: [] }
    })
  const owners = ownersOf(libraries, about.name)
  const places = new Map<string, Place>()
  const names = new Set(libraries.flatMap(({ library }) => library.declarations.map(({ name }) => name)))
  const inheritance = memoized(hiddenInheritance(api.hidden, (name) => names.has(name)))
  for (const libraryPage of libraries) placeAll(libraryPage, owners, places, inheritance)
  for (const libraryPage of libraries)
    for (const declaration of libraryPage.library.declarations) {
      const found = places.get(identityOf(declaration))
      if (found) libraryPage.shown.push({ place: found, isOwn: found.libraryPage === libraryPage })
    }
  const find = finder(libraries)
  return {
    about,
    libraries,
    find,
    placeOf: (declaration) => places.get(identityOf(declaration)) ?? null,
    ...typeRelations(places, find, inheritance),
  }
}

type Inheritance = (of: Declaration) => HiddenInheritance

function memoized(read: Inheritance): Inheritance {
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

/** Identifies a declaration by its source location, since several libraries may export the same declaration. */
const identityOf = ({ name, kind, source }: Declaration) => `${source.path}:${source.line}:${kind}:${name}`

/** Determines the library that each declaration is shown in. */
function ownersOf(libraries: LibraryPage[], main: string): ReadonlyMap<string, LibraryPage> {
  const owners = new Map<string, LibraryPage>()
  const assign = (libraryPage: LibraryPage, isEligible: (declaration: Declaration) => boolean) => {
    for (const declaration of libraryPage.library.declarations) {
      const identity = identityOf(declaration)
      if (!owners.has(identity) && isEligible(declaration)) owners.set(identity, libraryPage)
    }
  }
  for (const libraryPage of libraries) assign(libraryPage, ({ source }) => source.path === `lib/${libraryPage.library.path}`)
  for (const libraryPage of libraries) if (libraryPage.library.path === `${main}.dart`) assign(libraryPage, () => true)
  for (const libraryPage of libraries) assign(libraryPage, () => true)
  return owners
}

function placeAll(
  libraryPage: LibraryPage,
  owners: ReadonlyMap<string, LibraryPage>,
  places: Map<string, Place>,
  inheritance: Inheritance,
): void {
  const [files, anchors] = [distinct('index'), distinct()]
  for (const declaration of libraryPage.library.declarations) {
    const identity = identityOf(declaration)
    if (places.has(identity) || owners.get(identity) !== libraryPage || hiddenIn(declaration.doc)) continue
    const isPage = hasPage(declaration)
    const made = {
      declaration,
      libraryPage,
      path: isPage ? `${libraryPage.folder}/${files(declaration.name || 'extension')}.html` : libraryPage.path,
      anchor: isPage ? null : anchors(anchorOf(declaration)),
      members: shownMembers(declaration, inheritance),
    }
    places.set(identity, made)
    libraryPage.places.push(made)
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

function finder(libraries: LibraryPage[]): Site['find'] {
  const inLibrary = new Map(
    libraries.map((libraryPage) => [libraryPage, new Map(libraryPage.shown.map(({ place: found }) => [found.declaration.name, found]))]),
  )
  const anywhere = new Map<string, Place | null>()
  for (const { places } of libraries)
    for (const found of places) {
      const { name } = found.declaration
      anywhere.set(name, anywhere.has(name) ? null : found)
    }
  return (name, from) => (from && inLibrary.get(from)?.get(name)) ?? anywhere.get(name) ?? null
}

function typeRelations(
  places: ReadonlyMap<string, Place>,
  find: Site['find'],
  inheritance: Inheritance,
): Pick<Site, 'subtypesOf' | 'supertypesOf' | 'parentsOf'> {
  const subtypes = new Map<Place, { subtype: Place; relation: Relation }[]>()
  const supertypes = new Map<Place, ReturnType<Site['supertypesOf']>>()
  const parents = new Map<Place, Place[]>()
  for (const subtype of places.values()) {
    const { declaration, libraryPage } = subtype
    const found = declaration.supertypes.map(({ type, relation }) => ({ type, relation, place: find(nameOf(type), libraryPage) }))
    supertypes.set(subtype, found)
    for (const { place: ancestor, relation } of found)
      if (ancestor && ancestor !== subtype) listIn(subtypes, ancestor).push({ subtype, relation })
    const direct = found.flatMap(({ relation, place }) => (relation === 'represents' ? [] : (place ?? [])))
    parents.set(subtype, [...direct, ...inheritance(declaration).above.flatMap((name) => find(name, libraryPage) ?? [])])
  }
  return {
    subtypesOf: (of) => subtypes.get(of) ?? [],
    supertypesOf: (of) => supertypes.get(of) ?? [],
    parentsOf: (of) => parents.get(of) ?? [],
  }
}

function listIn<Key, Value>(map: Map<Key, Value[]>, key: Key): Value[] {
  const list = map.get(key) ?? []
  map.set(key, list)
  return list
}

/** What a type inherits from types without a page: their members, nearest type first, and the names of the supertypes of these types. */
type HiddenInheritance = { members: Member[]; above: string[] }

/** Returns a function that reads what a type inherits from types that no library exports, with type arguments substituted. */
function hiddenInheritance(hidden: readonly Declaration[], isShown: (name: string) => boolean): (of: Declaration) => HiddenInheritance {
  const byName = Map.groupBy(hidden, ({ name }) => name)
  /** Finds a type by name: in the same file, else the only type of this name in the package. */
  const find = (name: string, from: Declaration): Declaration | null => {
    const found = byName.get(name) ?? []
    const [only = null, ...others] = found
    return found.find(({ source }) => source.path === from.source.path) ?? (others.length > 0 || isShown(name) ? null : only)
  }
  return (of) => {
    const inherited: HiddenInheritance = { members: [], above: [] }
    if (of.kind === 'extension') return inherited
    const seen = new Set([of])
    const queue = [{ type: of, typeArguments: new Map<string, string>() }]
    for (const { type, typeArguments } of queue) {
      if (type !== of) inherited.members.push(...type.members.filter(isInherited).map((member) => filledIn(member, typeArguments)))
      for (const supertype of nearestFirst(type.supertypes)) {
        const name = nameOf(supertype.type)
        const found = find(name, type)
        if (found === null && type !== of) inherited.above.push(name)
        if (found === null || seen.has(found) || seen.size > maxTypes) continue
        seen.add(found)
        queue.push({ type: found, typeArguments: argumentsOf(found, fillIn(supertype.type, typeArguments)) })
      }
    }
    return inherited
  }
}

/** Maximum number of supertypes that are visited per type. */
const maxTypes = 200
const isInherited = ({ kind, isStatic }: Member): boolean => !isStatic && !['constructor', 'constant', 'enum value'].includes(kind)

/** Orders supertypes so that the first declaration of a member wins: mixins before the superclass, and later mixins before earlier ones. */
function nearestFirst(supertypes: Declaration['supertypes']): Declaration['supertypes'] {
  const of = (...relations: Relation[]) => supertypes.filter(({ relation }) => relations.includes(relation))
  return [...of('with').toReversed(), ...of('extends'), ...of('on', 'implements')]
}

const filledIn = (member: Member, typeArguments: ReadonlyMap<string, string>): Member => ({
  ...member,
  signature: fillIn(member.signature, typeArguments),
})
