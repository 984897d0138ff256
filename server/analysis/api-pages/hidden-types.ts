import type { Declaration, Member } from '../dart/api.ts'
import { argumentsOf, fillIn, nameOf } from '../dart/type-arguments.ts'

type Supertype = Declaration['supertypes'][number]

/** What a type inherits from types without a page: their members, nearest type first, and the names of the supertypes of these types. */
export type HiddenInheritance = { members: Member[]; above: string[] }

/**
 * Returns a function that reads what a type inherits from types that no library exports, with type arguments substituted. `isShown` returns whether a
 * library exports a name.
 */
export function hiddenInheritance(
  hidden: readonly Declaration[],
  isShown: (name: string) => boolean,
): (of: Declaration) => HiddenInheritance {
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
function nearestFirst(supertypes: readonly Supertype[]): Supertype[] {
  const of = (...relations: Supertype['relation'][]) => supertypes.filter(({ relation }) => relations.includes(relation))
  return [...of('with').toReversed(), ...of('extends'), ...of('on', 'implements')]
}

const filledIn = (member: Member, typeArguments: ReadonlyMap<string, string>): Member => ({
  ...member,
  signature: fillIn(member.signature, typeArguments),
})
