import type { SurfaceDeclaration, SurfaceMember } from '../surface.ts'
import { ancestorsOf, type KnownTypes, type TypesOfBoth } from './heads.ts'

/**
 * Returns the members of both types. Includes default constructors and members inherited from hidden types, if both surfaces contain this
 * information.
 */
export function membersOf(
  before: SurfaceDeclaration,
  after: SurfaceDeclaration,
  types: TypesOfBoth,
  areHiddenKnown: boolean,
): [SurfaceMember[], SurfaceMember[]] {
  const areKnown = [before, after].every(({ hasDefaultConstructor }) => hasDefaultConstructor !== undefined)
  const all = (type: SurfaceDeclaration, known: KnownTypes): SurfaceMember[] => {
    const { name, members = [], hasDefaultConstructor } = type
    return [
      ...(areKnown && hasDefaultConstructor ? [{ kind: 'constructor' as const, name, signature: `${name}()` }] : []),
      ...members,
      ...(areHiddenKnown ? inheritedFromHidden(type, known) : []),
    ]
  }
  return [all(before, types.earlier), all(after, types.later)]
}

function inheritedFromHidden(type: SurfaceDeclaration, types: KnownTypes): SurfaceMember[] {
  const found = new Map<string, SurfaceMember[]>()
  const own = new Set((type.members ?? []).map(({ name }) => name))
  for (const ancestor of ancestorsOf(type, types).known) {
    if (types.shown.has(ancestor.name)) continue
    const inherited = (ancestor.members ?? []).filter(({ kind, name, signature }) => isInherited(kind, signature) && !own.has(name))
    for (const each of inherited) found.set(each.name, [...(found.get(each.name) ?? []), each])
    for (const { name } of inherited) own.add(name)
  }
  return [...found.values()].flat()
}

const isInherited = (kind: SurfaceMember['kind'], signature: string): boolean =>
  kind !== 'constructor' && kind !== 'enum value' && !/^(?:static|const)\b/.test(signature)

/** Returns the qualified name of a member, as callers write it. */
export function memberName(type: string, member: SurfaceMember | undefined): string {
  if (member?.kind !== 'constructor') return `${type}.${member?.name ?? ''}`
  return member.name === type ? `${type}.new` : member.name
}

/**
 * Returns a predicate: whether a type may have a member that it does not declare. It may inherit the member, possibly from an unknown type that is
 * not in `known`, or have a default constructor.
 */
export function inheritedBy(type: SurfaceDeclaration, types: KnownTypes, known: ReadonlySet<string>): (member: SurfaceMember) => boolean {
  const hasDefault = type.hasDefaultConstructor ?? !(type.members ?? []).some(({ kind }) => kind === 'constructor')
  let inherited: { names: Set<string>; isWhole: boolean } | undefined
  return ({ kind, name, signature, isOverride }) => {
    if (kind === 'constructor') return hasDefault && name === type.name && !/\([^[{)]|required /.test(signature)
    if (isOverride === true) return true
    inherited ??= inheritedNames(type, types, known)
    return inherited.names.has(name) || !inherited.isWhole
  }
}

function inheritedNames(type: SurfaceDeclaration, types: KnownTypes, known: ReadonlySet<string>): { names: Set<string>; isWhole: boolean } {
  const ancestors = ancestorsOf(type, types)
  const names = new Set(ancestors.known.flatMap(({ members }) => members ?? []).map(({ name }) => name))
  return { names, isWhole: [...ancestors.unknown].every((name) => known.has(name) && !name.startsWith('_')) }
}
