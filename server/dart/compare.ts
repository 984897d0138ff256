import type { ApiChanges } from './changes.ts'
import { accessBreaks, type Named } from './compare-accessors.ts'
import { ancestorsOf, headBreaks, otherKind, typeParametersOf } from './compare-heads.ts'
import { callBreaks, nameIn, type TypeNames } from './compare-types.ts'
import type { Surface, SurfaceDeclaration, SurfaceMember } from './surface.ts'

/** How the public API of a later version differs from that of an earlier one. What several libraries show is told once. */
export function compareSurfaces(earlier: Surface, later: Surface): ApiChanges {
  const changes: ApiChanges = { added: [], removed: [], changed: [] }
  const before = new Map(earlier.libraries.map((library) => [library.path, library]))
  const after = new Map(later.libraries.map((library) => [library.path, library]))
  const comparing: Comparing = { changes, told: new Set(), earlier: typesIn(earlier), later: typesIn(later) }
  for (const { path } of earlier.libraries) if (!after.has(path)) changes.removed.push(libraryAt(path))
  for (const library of later.libraries) {
    const known = before.get(library.path)
    if (known === undefined) changes.added.push(libraryAt(library.path))
    else {
      compareExports(library.path, known.foreignExports, library.foreignExports, changes)
      compareDeclarations(comparing, library.path, shownBy(earlier, known), shownBy(later, library))
    }
  }
  return changes
}

type Library = Surface['libraries'][number]
type Types = ReadonlyMap<string, SurfaceDeclaration>
type Comparing = {
  changes: ApiChanges
  /** Declarations that were told of, of either version. */
  told: Set<SurfaceDeclaration>
  earlier: Types
  later: Types
}

const libraryAt = (path: string) => ({ library: path, kind: 'library', name: path, signature: path })

const typesIn = ({ declarations }: Surface): Types =>
  new Map(declarations.filter(isType).map((declaration) => [declaration.name, declaration]))

const shownBy = ({ declarations }: Surface, { shows }: Library): SurfaceDeclaration[] => shows.flatMap((place) => declarations[place] ?? [])

function compareExports(library: string, before: readonly string[], after: readonly string[], { added, removed }: ApiChanges): void {
  const told = (uri: string) => ({ library, kind: 'export', name: uri, signature: `export '${uri}'` })
  const [was, is] = [new Set(before), new Set(after)]
  for (const uri of was) if (!is.has(uri)) removed.push(told(uri))
  for (const uri of is) if (!was.has(uri)) added.push(told(uri))
}

function compareDeclarations(
  comparing: Comparing,
  library: string,
  before: readonly SurfaceDeclaration[],
  after: readonly SurfaceDeclaration[],
): void {
  const { changes, told } = comparing
  for (const { was, is } of pairs(before, after)) {
    if ([...was, ...is].every((each) => told.has(each))) continue
    for (const each of [...was, ...is]) told.add(each)
    const [first, now] = [was[0], is[0]]
    if (first === undefined) changes.added.push(...is.map((each) => ({ library, ...outline(each) })))
    else if (now === undefined) changes.removed.push(...was.map((each) => ({ library, ...outline(each) })))
    else if (isType(first) && isType(now)) compareTypes(comparing, library, first, now)
    else
      tell(
        changes,
        library,
        first.name,
        was,
        is,
        isType(first) || isType(now) ? [otherKind(first, now)] : signatureBreaks(was, is, { before: [], after: [] }),
      )
  }
}

const outline = ({ kind, name, signature }: Named) => ({ kind, name, signature })

/** What has the same name on either side: a getter and its setter go together. */
function pairs<T extends Named>(before: readonly T[], after: readonly T[]): { was: T[]; is: T[] }[] {
  const found = new Map<string, { was: T[]; is: T[] }>()
  const at = (name: string) => {
    const pair = found.get(name) ?? { was: [], is: [] }
    found.set(name, pair)
    return pair
  }
  for (const each of before) at(each.name).was.push(each)
  for (const each of after) at(each.name).is.push(each)
  return [...found.values()]
}

const isType = ({ kind }: Named): boolean => ['class', 'mixin', 'extension', 'extension type', 'enum', 'typedef'].includes(kind)
const isCalled = ({ kind }: Named): boolean => ['function', 'method', 'operator', 'constructor'].includes(kind)

function signatureBreaks(was: readonly Named[], is: readonly Named[], names: TypeNames): string[] {
  const [before, after] = [was[0], is[0]]
  if (before === undefined || after === undefined) return []
  if (isCalled(before) !== isCalled(after)) return [otherKind(before, after)]
  return isCalled(before) ? callBreaks(before.signature, after.signature, names) : accessBreaks(was, is, names)
}

function tell({ changed }: ApiChanges, library: string, name: string, was: readonly Named[], is: readonly Named[], breaks: string[]): void {
  const [before, after] = [signatures(was), signatures(is)]
  if (before !== after) changed.push({ library, kind: is[0]?.kind ?? '', name, before, after, breaks })
}

const signatures = (all: readonly Named[]): string => all.map(({ signature }) => signature).join('; ')

function compareTypes(comparing: Comparing, library: string, before: SurfaceDeclaration, after: SurfaceDeclaration): void {
  const names = { before: typeParametersOf(before).map(nameIn), after: typeParametersOf(after).map(nameIn) }
  tell(comparing.changes, library, after.name, [before], [after], headBreaks(before, after, names, comparing.later))
  const { added, removed } = comparing.changes
  const [all, allNow] = membersOf(before, after)
  const kept = inheritedBy(after, comparing.later)
  const had = inheritedBy(before, comparing.earlier)
  for (const { was, is } of pairs(all, allNow)) {
    const name = memberName(after.name, was[0] ?? is[0])
    if (is.length === 0) removed.push(...was.filter((each) => !kept(each)).map((each) => ({ library, ...outline(each), name })))
    else if (was.length === 0) added.push(...is.filter((each) => !had(each)).map((each) => ({ library, ...outline(each), name })))
    else tell(comparing.changes, library, name, was, is, signatureBreaks(was, is, names))
  }
}

/** The members of both, with the default constructors of classes where they are known of both. */
function membersOf(...both: [SurfaceDeclaration, SurfaceDeclaration]): [SurfaceMember[], SurfaceMember[]] {
  const areKnown = both.every(({ hasDefaultConstructor }) => hasDefaultConstructor !== undefined)
  const all = ({ name, members = [], hasDefaultConstructor }: SurfaceDeclaration): SurfaceMember[] =>
    areKnown && hasDefaultConstructor ? [{ kind: 'constructor', name, signature: `${name}()` }, ...members] : members
  return [all(both[0]), all(both[1])]
}

function memberName(type: string, member: SurfaceMember | undefined): string {
  if (member?.kind !== 'constructor') return `${type}.${member?.name ?? ''}`
  return member.name === type ? `${type}.new` : member.name
}

/** Whether a type has a member that it does not declare: it inherits it, perhaps from a private type, or has the constructor that needs no words. */
function inheritedBy(type: SurfaceDeclaration, types: Types): (member: SurfaceMember) => boolean {
  const hasDefault = type.hasDefaultConstructor ?? !(type.members ?? []).some(({ kind }) => kind === 'constructor')
  let inherited: { names: Set<string>; isWhole: boolean } | undefined
  return ({ kind, name, signature, isOverride }) => {
    if (kind === 'constructor') return hasDefault && name === type.name && !/\([^[{)]|required /.test(signature)
    if (isOverride === true) return true
    inherited ??= inheritedNames(type, types)
    return inherited.names.has(name) || !inherited.isWhole
  }
}

function inheritedNames(type: SurfaceDeclaration, types: Types): { names: Set<string>; isWhole: boolean } {
  const { known, isWhole } = ancestorsOf(type, types)
  return { names: new Set(known.flatMap(({ members }) => members ?? []).map(({ name }) => name)), isWhole }
}
