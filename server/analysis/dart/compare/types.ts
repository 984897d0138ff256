import { maxAliases, maxAncestors } from '../types/relation.ts'
import { isIncompatibleArgument, isIncompatibleResult, typeParameterBreaks, type Typing } from './signatures.ts'
import type { SurfaceDeclaration, SurfaceMember } from '../surface.ts'
import { typeParametersOf } from '../signature.ts'
import { aliasedBy, coreTypes } from '../types/known-types.ts'

/** Describes a change of kind. */
export const otherKind = (before: { kind: string }, after: { kind: string }): string =>
  `it is ${withArticle(after.kind)} in place of ${withArticle(before.kind)}`

const withArticle = (kind: string): string => `${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`

/** The types of one version: exported ones, and hidden types that they depend on. */
export type KnownTypes = { byName: ReadonlyMap<string, SurfaceDeclaration>; shown: ReadonlySet<string> }

/** Describes what breaks when the header of a type declaration changes. */
export function headBreaks(before: SurfaceDeclaration, after: SurfaceDeclaration, typing: Typing, types: TypesOfBoth): string[] {
  if (before.kind !== after.kind) return isAliasOfType(before) || isAliasOfType(after) ? [] : [otherKind(before, after)]
  if (before.kind === 'typedef') return isSameAlias(before, after, typing) ? [] : ['it is an alias for another type']
  return [
    ...restrictions(before, after),
    ...typeParameterBreaks(typeParametersOf(before), typeParametersOf(after), typing),
    ...supertypeBreaks(before, after, typing, types),
  ]
}

export type TypesOfBoth = { earlier: KnownTypes; later: KnownTypes }

/** Whether a declaration is a typedef for a class, which callers can use like the class itself. */
const isAliasOfType = (declaration: SurfaceDeclaration): boolean =>
  declaration.kind === 'typedef' && /^(?:[\w$]+\.)?[\w$]+(?:<.*>)?$/s.test(aliasedBy(declaration) ?? '')

/** Whether two typedefs denote the same type, or may do so. */
function isSameAlias(before: SurfaceDeclaration, after: SurfaceDeclaration, typing: Typing): boolean {
  const [was, is] = [aliasedBy(before) ?? '', aliasedBy(after) ?? '']
  return !isIncompatibleResult(was, is, typing) && !isIncompatibleArgument(was, is, typing)
}

/** Modifiers that prevent other libraries from instantiating, extending or implementing a class. */
const restricting = ['abstract', 'base', 'final', 'interface', 'sealed']

function restrictions(before: SurfaceDeclaration, after: SurfaceDeclaration): string[] {
  const [was, is] = [wordsBefore(before), wordsBefore(after)]
  const lostMixin = was.includes('mixin') && !is.includes('mixin') ? ['it is no longer a mixin'] : []
  return [...lostMixin, ...restricting.filter((word) => is.includes(word) && !was.includes(word)).map((word) => `it is now \`${word}\``)]
}

const wordsBefore = ({ name, signature }: SurfaceDeclaration): string[] => {
  const words = signature.split(/[^\w$]+/, 8)
  return words.slice(0, words.indexOf(name))
}

function supertypeBreaks(before: SurfaceDeclaration, after: SurfaceDeclaration, typing: Typing, types: TypesOfBoth): string[] {
  const relation = before.kind === 'mixin' || before.kind === 'extension' ? 'on' : 'represents'
  const isMeant = (each: Supertype) => each.relation === relation
  const [was, is] = [before.supertypes?.filter(isMeant) ?? [], after.supertypes?.filter(isMeant) ?? []]
  const gained = is.filter(({ type }) => was.every((each) => isIncompatibleArgument(each.type, type, typing)))
  return [
    ...gained.map(({ type }) => `it ${relation === 'on' ? 'is on' : 'represents'} \`${type}\``),
    ...lostSupertypes(before, after, typing, types).map((type) => `it is no longer a \`${type}\``),
  ]
}

/** Returns the supertypes visible to callers of the earlier version that the later version certainly no longer has. */
function lostSupertypes(before: SurfaceDeclaration, after: SurfaceDeclaration, typing: Typing, { earlier, later }: TypesOfBoth): string[] {
  const seen = inheritance(before).filter(({ type }) => isSeen(baseName(type), earlier))
  if (seen.length === 0) return []
  const [had, has] = [ancestorsOf(before, earlier), ancestorsOf(after, later)]
  const isWhole = areAllIn(has.unknown, had.unknown)
  const names = new Set([...has.names].map((name) => resolveAlias(name, typing)))
  return isWhole ? seen.flatMap(({ type }) => (names.has(resolveAlias(baseName(type), typing)) ? [] : [type])) : []
}

/** Whether callers can name a type. Types of the package that no library exports are not accessible. */
const isSeen = (name: string, { byName, shown }: KnownTypes): boolean => !name.startsWith('_') && (shown.has(name) || !byName.has(name))

/** Resolves typedefs and returns the name of the aliased type. */
function resolveAlias(name: string, { lookUp }: Typing): string {
  let found = name
  for (let depth = 0; depth < maxAliases; depth++) {
    const known = lookUp(found)
    if (known === null || !('alias' in known)) break
    found = baseName(known.alias)
  }
  return found
}

type Supertype = NonNullable<SurfaceDeclaration['supertypes']>[number]

const inheritance = ({ supertypes = [] }: SurfaceDeclaration): Supertype[] =>
  supertypes.filter(({ relation }) => relation !== 'on' && relation !== 'represents')

const areAllIn = (unknown: ReadonlySet<string>, known: ReadonlySet<string>): boolean =>
  [...unknown].every((name) => known.has(name) && !name.startsWith('_'))

/** Returns the name of a type without type arguments and import prefix. */
const baseName = (type: string): string => /^(?:[a-z_][\w$]*\.)?([\w$]+)/.exec(type)?.[1] ?? type

/** The transitive supertypes of a type: all names, the known declarations nearest first, and the names of unknown types. */
type Ancestors = { names: Set<string>; known: SurfaceDeclaration[]; unknown: Set<string> }

/** Collects all transitive supertypes. Types of the Dart SDK are neither known nor unknown, since they have no members of this package. */
export function ancestorsOf(declaration: SurfaceDeclaration, { byName }: KnownTypes): Ancestors {
  const [names, unknown, known] = [new Set<string>(), new Set<string>(), new Set([declaration])]
  for (const each of known) {
    for (const { type } of inheritance(each)) {
      const name = baseName(type)
      names.add(name)
      const parent = byName.get(name)
      if (parent !== undefined && known.size <= maxAncestors) known.add(parent)
      else if (parent !== undefined || !coreTypes.has(name)) unknown.add(name)
    }
  }
  return { names, known: [...known].slice(1), unknown }
}

/**
 * Returns the members of a type to compare between versions: its own, its default constructor if `areDefaultsKnown`, and the members that it inherits from
 * hidden types, unless `types` is null.
 */
export function membersToCompare(type: SurfaceDeclaration, areDefaultsKnown: boolean, types: KnownTypes | null): SurfaceMember[] {
  const { name, members = [], hasDefaultConstructor } = type
  const all = [...members]
  if (areDefaultsKnown && hasDefaultConstructor) all.unshift({ kind: 'constructor', name, signature: `${name}()` })
  if (types === null) return all
  const own = new Set(members.map((member) => member.name))
  for (const ancestor of ancestorsOf(type, types).known) {
    if (types.shown.has(ancestor.name)) continue
    const inherited = (ancestor.members ?? []).filter((each) => isInherited(each.kind, each.signature) && !own.has(each.name))
    all.push(...inherited)
    for (const each of inherited) own.add(each.name)
  }
  return all
}

const isInherited = (kind: SurfaceMember['kind'], signature: string): boolean =>
  kind !== 'constructor' && kind !== 'enum value' && !/^(?:static|const)\b/.test(signature)

/** Returns the qualified name of a member, as callers write it. */
export function memberName(type: string, member: SurfaceMember | undefined): string {
  if (member?.kind !== 'constructor') return `${type}.${member?.name ?? ''}`
  return member.name === type ? `${type}.new` : member.name
}

/** Returns a predicate: whether a type may inherit a member, also from a type missing in `known`, or has it as its default constructor. */
export function inheritedBy(type: SurfaceDeclaration, types: KnownTypes, known: ReadonlySet<string>): (member: SurfaceMember) => boolean {
  const hasDefault = type.hasDefaultConstructor ?? !(type.members ?? []).some(({ kind }) => kind === 'constructor')
  const ancestors = ancestorsOf(type, types)
  const inherited = new Set(ancestors.known.flatMap(({ members }) => members ?? []).map(({ name }) => name))
  const isWhole = areAllIn(ancestors.unknown, known)
  return ({ kind, name, signature, isOverride }) => {
    if (kind === 'constructor') return hasDefault && name === type.name && !/\([^[{)]|required /.test(signature)
    return isOverride === true || inherited.has(name) || !isWhole
  }
}
