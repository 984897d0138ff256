import { type Api, type Declaration, hasMembers, type Library, type Member } from '../dart/api.ts'
import { isHiddenByComment } from './directives.ts'
import { argumentsOf, fillIn, bareTypeName } from '../dart/signature.ts'

/** Package metadata shown in the documentation. */
export type About = {
  name: string
  version: string
  description: string | null
  /** Repository URL from the pubspec. Source links are generated for known hosting services. */
  repository: string | null
}

/** The documentation of a package: the page of each library and declaration, and the resolution of names. */
export type Site = {
  about: About
  libraries: LibraryPage[]
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

/** The page of a library: its path in the documentation, its declarations (`places`), and all that it exports (`shown`). */
export type LibraryPage = { library: Library; path: string; places: Place[]; shown: { place: Place; isOwn: boolean }[] }

/** The page of a declaration, or its anchor on the page of its library. */
export type Place = {
  declaration: Declaration
  libraryPage: LibraryPage
  path: string
  anchor: string | null
  /** The shown members, including those inherited from types without a page. */
  members: readonly Member[]
  /** Names of the supertypes of the types without a page. */
  above: readonly string[]
}

/** Whether declarations of this kind have a page of their own. */
export const hasPage = hasMembers

/**
 * Assigns declarations to pages. One that several libraries export is shown in the library that declares it, else in the package's main library, else
 * in the first by path.
 */
export function buildSite(api: Api, about: About): Site {
  const paths = distinct()
  const libraries = api.libraries
    .filter(({ doc }) => !isHiddenByComment(doc))
    .map((library): LibraryPage => ({ library, path: paths(library.path.replace(/\.dart$/, '')), places: [], shown: [] }))
  const owners = ownersOf(libraries, about.name)
  const places = new Map<string, Place>()
  const names = new Set(libraries.flatMap(({ library }) => library.declarations.map(({ name }) => name)))
  const inheritance = hiddenInheritance(api.hidden, (name) => names.has(name))
  for (const libraryPage of libraries) placeAll(libraryPage, owners, places, inheritance)
  for (const libraryPage of libraries)
    for (const declaration of libraryPage.library.declarations) {
      const found = places.get(identityOf(declaration))
      if (found) libraryPage.shown.push({ place: found, isOwn: found.libraryPage === libraryPage })
    }
  const find = finder(libraries)
  return { about, libraries, find, ...typeRelations([...places.values()], find) }
}

type Inheritance = (of: Declaration) => { members: Member[]; above: string[] }

/** Returns the members shown on the page of a type, without those hidden by `@nodoc`. */
function shownMembers(declaration: Declaration, inherited: readonly Member[]): Member[] {
  const above = Map.groupBy(inherited, declarationAnchor)
  const own = declaration.members.map((member) => {
    const doc = above.get(declarationAnchor(member))?.find((one) => one.doc !== null)?.doc
    return withDoc(member, doc ?? null)
  })
  const declared = new Set(own.map(declarationAnchor))
  const others = [...above].flatMap(([anchor, [nearest]]) => (nearest && !declared.has(anchor) ? [nearest] : []))
  return [...own, ...others].filter(({ doc }) => !isHiddenByComment(doc))
}

/** Returns a member with the comment of one that it overrides, unless it has its own. A comment that hides an element hides no other one. */
export const withDoc = (member: Member, doc: string | null): Member =>
  member.doc === null && isInherited(member) && !isHiddenByComment(doc) ? { ...member, doc } : member

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
  const [names, anchors] = [distinct('index'), distinct()]
  for (const declaration of libraryPage.library.declarations) {
    const identity = identityOf(declaration)
    if (places.has(identity) || owners.get(identity) !== libraryPage || isHiddenByComment(declaration.doc)) continue
    const isPage = hasPage(declaration)
    const { members, above } = inheritance(declaration)
    const made = {
      declaration,
      libraryPage,
      path: isPage ? `${libraryPage.path}/${names(declaration.name || 'extension')}` : libraryPage.path,
      anchor: isPage ? null : anchors(declarationAnchor(declaration)),
      members: shownMembers(declaration, members),
      above,
    }
    places.set(identity, made)
    libraryPage.places.push(made)
  }
}

/** Returns the anchor of an element. A setter may have the same name as a getter, so its anchor ends with `=`. */
export const declarationAnchor = ({ name, kind }: { name: string; kind: string }): string =>
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

function typeRelations(places: readonly Place[], find: Site['find']): Pick<Site, 'subtypesOf' | 'supertypesOf' | 'parentsOf'> {
  const supertypesIn = ({ declaration, libraryPage }: Place) =>
    declaration.supertypes.map(({ type, relation }) => ({ type, relation, place: find(bareTypeName(type), libraryPage) }))
  const supertypes = new Map(places.map((place) => [place, supertypesIn(place)]))
  const subtypes = [...supertypes].flatMap(([subtype, all]) => all.map(({ place, relation }) => ({ place, subtype, relation })))
  const byPlace = Map.groupBy(subtypes, ({ place }) => place)
  const supertypesOf: Site['supertypesOf'] = (of) => supertypes.get(of) ?? []
  return {
    supertypesOf,
    subtypesOf: (of) => (byPlace.get(of) ?? []).filter(({ subtype }) => subtype !== of),
    parentsOf: (of) => [
      ...supertypesOf(of).flatMap(({ relation, place }) => (relation === 'represents' ? [] : (place ?? []))),
      ...of.above.flatMap((name) => find(name, of.libraryPage) ?? []),
    ],
  }
}

/**
 * Returns a function that reads what a type inherits from types that no library exports: their members with type arguments substituted, nearest type
 * first, and the names of their supertypes.
 */
function hiddenInheritance(hidden: readonly Declaration[], isShown: (name: string) => boolean): Inheritance {
  const byName = Map.groupBy(hidden, ({ name }) => name)
  /** Finds a type by name: in the same file, else the only type of this name in the package. */
  const find = (name: string, from: Declaration): Declaration | null => {
    const found = byName.get(name) ?? []
    const [only = null, ...others] = found
    return found.find(({ source }) => source.path === from.source.path) ?? (others.length > 0 || isShown(name) ? null : only)
  }
  return (of) => {
    const inherited: ReturnType<Inheritance> = { members: [], above: [] }
    if (of.kind === 'extension') return inherited
    const seen = new Set([of])
    const queue = [{ type: of, typeArguments: new Map<string, string>() }]
    for (const { type, typeArguments } of queue) {
      const filledIn = (member: Member) => ({ ...member, signature: fillIn(member.signature, typeArguments) })
      if (type !== of) inherited.members.push(...type.members.filter(isInherited).map(filledIn))
      for (const supertype of nearestFirst(type.supertypes)) {
        const name = bareTypeName(supertype.type)
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

/** Whether subtypes inherit a member. */
export const isInherited = ({ kind, isStatic }: Member): boolean => !isStatic && !['constructor', 'constant', 'enum value'].includes(kind)

/** Orders supertypes so that the first declaration of a member wins: mixins before the superclass, and later mixins before earlier ones. */
function nearestFirst(supertypes: Declaration['supertypes']): Declaration['supertypes'] {
  const of = (...relations: Relation[]) => supertypes.filter(({ relation }) => relations.includes(relation))
  return [...of('with').toReversed(), ...of('extends'), ...of('on', 'implements')]
}
