import { hasMembers } from '../api.ts'
import type { ApiChanges } from '../changes.ts'
import { accessBreaks, callBreaks, inside, type Named, type Typing } from './signatures.ts'
import type { Surface, SurfaceDeclaration } from '../surface.ts'
import { typeParametersOf } from '../signature.ts'
import { lookUpIn } from '../types/known-types.ts'
import {
  ancestorsOf,
  headBreaks,
  inheritedBy,
  type KnownTypes,
  memberName,
  membersToCompare,
  otherKind,
  type TypesOfBoth,
} from './types.ts'

/**
 * Compares the public APIs of two versions. Reports a change that is visible in several libraries once, and a break only if it is certain, so not if
 * it depends on types of other packages.
 */
export function compareSurfaces(earlier: Surface, later: Surface): ApiChanges {
  const changes: ApiChanges = { added: [], removed: [], changed: [] }
  const before = new Map(earlier.libraries.map((library) => [library.path, library]))
  const after = new Map(later.libraries.map((library) => [library.path, library]))
  const types = { earlier: typesIn(earlier), later: typesIn(later) }
  const lookUp = lookUpIn(types.later.byName, types.earlier.byName)
  const typing: Typing = { before: [], after: [], lookUp, steps: { left: maxSteps } }
  const areHiddenKnown = earlier.hidden !== undefined && later.hidden !== undefined
  const comparing: Comparing = { changes, reported: new Set(), types, typing, areHiddenKnown }
  for (const { path } of earlier.libraries) if (!after.has(path)) changes.removed.push(libraryAt(path))
  for (const library of later.libraries) {
    const known = before.get(library.path)
    if (known === undefined) changes.added.push(libraryAt(library.path))
    else {
      const [was, is] = [shownBy(earlier, known), shownBy(later, library)]
      compareExports({ library: known, shown: was }, { library, shown: is }, changes)
      compareDeclarations(comparing, { was: known, is: library }, was, is)
    }
  }
  return changes
}

type Library = Surface['libraries'][number]
type Comparing = {
  changes: ApiChanges
  /** Declarations of either version that have already been reported. */
  reported: Set<SurfaceDeclaration>
  types: TypesOfBoth
  typing: Typing
  /** Whether both surfaces contain the hidden types that public types depend on. */
  areHiddenKnown: boolean
}

/** Step limit for subtype checks per comparison. Checks after the limit report no breaks. */
const maxSteps = 3_000_000
const libraryAt = (path: string) => ({ library: path, kind: 'library', name: path, signature: path })

/** Maps names to types: public types first, then hidden types with a unique name. */
function typesIn({ declarations, hidden = [] }: Surface): KnownTypes {
  const shown = new Set(declarations.filter(isType).map(({ name }) => name))
  const byName = new Map<string, SurfaceDeclaration>()
  const taken = new Set(shown)
  for (const each of hidden) {
    if (taken.has(each.name)) byName.delete(each.name)
    else byName.set(each.name, each)
    taken.add(each.name)
  }
  for (const each of declarations) if (isType(each)) byName.set(each.name, each)
  return { byName, shown }
}

const shownBy = ({ declarations }: Surface, { shows }: Library): SurfaceDeclaration[] => shows.flatMap((place) => declarations[place] ?? [])

function compareDeclarations(
  comparing: Comparing,
  libraries: Libraries,
  before: readonly SurfaceDeclaration[],
  after: readonly SurfaceDeclaration[],
): void {
  const { changes, reported, typing } = comparing
  const library = libraries.is.path
  for (const { was, is } of pairs(before, after)) {
    if ([...was, ...is].every((each) => reported.has(each))) continue
    for (const each of [...was, ...is]) reported.add(each)
    const [first, now] = [was[0], is[0]]
    if (first === undefined) addOrRemove(changes, libraries, is, true)
    else if (now === undefined) addOrRemove(changes, libraries, was, false)
    else if (isType(first) && isType(now)) compareTypes(comparing, library, first, now)
    else {
      const breaks = isType(first) || isType(now) ? [otherKind(first, now)] : signatureBreaks(was, is, typing)
      reportChange(changes, { library, name: first.name }, was, is, breaks)
    }
  }
}

type Libraries = { was: Library; is: Library }

/** Reports declarations of one version. A declaration that the other version exports from another package has moved there: no break. */
function addOrRemove(changes: ApiChanges, { was, is }: Libraries, all: readonly SurfaceDeclaration[], isAdded: boolean): void {
  const name = all[0]?.name ?? ''
  const moved = isAdded ? exportOf(name, was, is) : exportOf(name, is, was)
  for (const each of all) {
    const { signature, ...element } = { library: is.path, ...outline(each) }
    const [before, after] = isAdded ? [moved, signature] : [signature, moved]
    if (before === null || after === null) changes[isAdded ? 'added' : 'removed'].push({ ...element, signature })
    else changes.changed.push({ ...element, before, after, breaks: [] })
  }
}

const outline = ({ kind, name, signature }: Named) => ({ kind, name, signature })

/** Pairs the elements of two versions by name. A getter and its setter belong to the same pair. */
function pairs<T extends Named>(before: readonly T[], after: readonly T[]): { was: T[]; is: T[] }[] {
  const was = Map.groupBy(before, ({ name }) => name)
  const is = Map.groupBy(after, ({ name }) => name)
  return [...new Set([...was.keys(), ...is.keys()])].map((name) => ({ was: was.get(name) ?? [], is: is.get(name) ?? [] }))
}

const isType = ({ kind }: SurfaceDeclaration): boolean => kind === 'typedef' || hasMembers({ kind })
const isCalled = ({ kind }: Named): boolean => ['function', 'method', 'operator', 'constructor'].includes(kind)

function signatureBreaks(was: readonly Named[], is: readonly Named[], typing: Typing): string[] {
  const [before, after] = [was[0], is[0]]
  if (before === undefined || after === undefined) return []
  if (isCalled(before) !== isCalled(after)) return [otherKind(before, after)]
  if (equality.test(before.signature) && equality.test(after.signature)) return []
  return isCalled(before) ? callBreaks(before.signature, after.signature, typing) : accessBreaks(was, is, typing)
}

/** Matches `operator ==` with any of the parameter types that are equivalent, since the operand is never null. */
const equality = /\boperator ==\((?:covariant )?(?:(?:dynamic|Object\??) )?[\w$]+\)$/

type Place = { library: string; name: string }

function reportChange(
  { changed }: ApiChanges,
  { library, name }: Place,
  was: readonly Named[],
  is: readonly Named[],
  breaks: string[],
): void {
  const signatures = (all: readonly Named[]): string => all.map(({ signature }) => signature).join('; ')
  const [before, after] = [signatures(was), signatures(is)]
  if (withoutPrefixes(before) !== withoutPrefixes(after)) changed.push({ library, kind: is[0]?.kind ?? '', name, before, after, breaks })
}

/** Import prefixes before types have no meaning for callers, and generated code renumbers them. */
const withoutPrefixes = (signature: string): string => signature.replace(/(?<![\w$.'"])[a-z_][\w$]*\.(?=_*[A-Z])/g, '')

function compareTypes(comparing: Comparing, library: string, before: SurfaceDeclaration, after: SurfaceDeclaration): void {
  const { types, changes } = comparing
  const typing = inside(comparing.typing, typeParametersOf(before), typeParametersOf(after))
  reportChange(changes, { library, name: after.name }, [before], [after], headBreaks(before, after, typing, types))
  // The members of an alias belong to the aliased type.
  if ((before.kind === 'typedef') !== (after.kind === 'typedef')) return
  const areDefaultsKnown = [before, after].every(({ hasDefaultConstructor }) => hasDefaultConstructor !== undefined)
  const all = membersToCompare(before, areDefaultsKnown, comparing.areHiddenKnown ? types.earlier : null)
  const allNow = membersToCompare(after, areDefaultsKnown, comparing.areHiddenKnown ? types.later : null)
  const kept = inheritedBy(after, types.later, ancestorsOf(before, types.earlier).unknown)
  const had = inheritedBy(before, types.earlier, ancestorsOf(after, types.later).unknown)
  for (const { was, is } of pairs(all, allNow)) {
    const name = memberName(after.name, was[0] ?? is[0])
    if (is.length === 0) changes.removed.push(...was.filter((each) => !kept(each)).map((each) => ({ library, ...outline(each), name })))
    else if (was.length === 0) changes.added.push(...is.filter((each) => !had(each)).map((each) => ({ library, ...outline(each), name })))
    else reportChange(changes, { library, name }, was, is, signatureBreaks(was, is, typing))
  }
}

type Reexport = NonNullable<Library['reexports']>[number]
type Side = { library: Library; shown: readonly SurfaceDeclaration[] }

/** Compares the exports from other packages: by name if the exports list names, else by URI. */
function compareExports(before: Side, after: Side, { added, removed }: ApiChanges): void {
  removed.push(...lostExports(before, after))
  added.push(...lostExports(after, before))
}

/** Returns the exports of one version that the other version certainly does not have. */
function lostExports({ library }: Side, other: Side): ApiChanges['added'] {
  const missingExport = (uri: string, name = uri) => ({ library: library.path, kind: 'export', name, signature: `export '${uri}'` })
  const [own, theirs] = [library.reexports, other.library.reexports]
  if (own === undefined || theirs === undefined) {
    const kept = new Set(other.library.foreignExports)
    return [...new Set(library.foreignExports)].filter((uri) => !kept.has(uri)).map((uri) => missingExport(uri))
  }
  const shown = new Set(other.shown.map(({ name }) => name))
  const uris = new Set(theirs.map(({ uri }) => uri))
  // An export without `show` in the other version may provide the same names.
  const isOpen = theirs.some((each) => !namesShown(each) && !own.some(({ uri }) => uri === each.uri))
  const whole = new Set(own.filter((each) => !namesShown(each) && !uris.has(each.uri)).map(({ uri }) => uri))
  const names = new Map(own.flatMap((each) => (namesShown(each) ?? []).map((name) => [name, each.uri] as const)))
  const lost = [...names].filter(([name]) => !shown.has(name) && !theirs.some((each) => showsName(each, name)))
  return [...(isOpen ? [] : [...whole].map((uri) => missingExport(uri))), ...lost.map(([name, uri]) => missingExport(uri, name))]
}

/** Returns the names that an export shows, or null if it does not list names. */
const namesShown = ({ combinators }: Reexport): string[] | null => {
  const shown = combinators.filter(({ shows }) => shows)
  return shown.length === 0
    ? null
    : shown.flatMap(({ names }) => names).filter((name) => combinators.every((each) => each.names.includes(name) === each.shows))
}

const showsName = ({ combinators }: Reexport, name: string): boolean =>
  combinators.every(({ shows, names }) => names.includes(name) === shows)

/** Returns the export from another package that may provide a name which the other version declares: one that shows it, or a new one. */
function exportOf(name: string, library: Library, other: Library): string | null {
  const known = new Set((other.reexports ?? []).map((each) => JSON.stringify(each)))
  const found = (library.reexports ?? []).find(
    (each) => showsName(each, name) && (namesShown(each) !== null || !known.has(JSON.stringify(each))),
  )
  return found === undefined ? null : `export '${found.uri}'`
}
