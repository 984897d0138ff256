import { canonical, isSameType, type TypeNames, typeParameterBreaks } from './compare-types.ts'
import { splitTypeParameters } from './signature.ts'
import type { SurfaceDeclaration } from './surface.ts'
import { endOfTypeArguments } from './syntax/passages.ts'

/** That something is of another kind, in words. */
export const otherKind = (before: { kind: string }, after: { kind: string }): string =>
  `it is ${withArticle(after.kind)} in place of ${withArticle(before.kind)}`

const withArticle = (kind: string): string => `${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`

type Types = ReadonlyMap<string, SurfaceDeclaration>

/** What may break those who use a class or its like when its head changes, in words. `later` are the types of the later version. */
export function headBreaks(before: SurfaceDeclaration, after: SurfaceDeclaration, names: TypeNames, later: Types): string[] {
  if (before.kind !== after.kind) return [otherKind(before, after)]
  if (before.kind === 'typedef') return isSameType(before.signature, after.signature, names) ? [] : ['it stands for another type']
  return [
    ...restrictions(before, after),
    ...typeParameterBreaks(typeParametersOf(before), typeParametersOf(after), names),
    ...supertypeBreaks(before, after, names, later),
  ]
}

/** As written, such as `T extends num`. */
export function typeParametersOf({ name, signature }: SurfaceDeclaration): string[] {
  const start = signature.search(new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}<`)) + name.length
  const end = signature[start] === '<' ? endOfTypeArguments(signature, start) : null
  return end === null ? [] : splitTypeParameters(signature.slice(start, end))
}

/** Modifiers that keep others from making, extending or implementing a class. */
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

function supertypeBreaks(before: SurfaceDeclaration, after: SurfaceDeclaration, names: TypeNames, later: Types): string[] {
  const narrowing = before.kind === 'mixin' || before.kind === 'extension' ? on : represented
  const gained = without(narrowing(supertypesOf(after)), names.after, narrowing(supertypesOf(before)), names.before)
  const gone = without(subtypes(supertypesOf(before)), names.before, supertypesOf(after), names.after).filter(
    ({ type }) => !type.startsWith('_'),
  )
  const known = gone.length > 0 ? ancestorsOf(after, later) : null
  const lost = known?.isWhole === true ? gone.filter(({ type }) => !known.names.has(baseName(type))) : []
  return [
    ...gained.map(({ relation, type }) => `it ${relation === 'on' ? 'is on' : 'stands for'} \`${type}\``),
    ...lost.map(({ type }) => `it is no longer a \`${type}\``),
  ]
}

/** Types that are not among others. */
function without(types: Supertypes, names: readonly string[], others: Supertypes, otherNames: readonly string[]): Supertypes {
  const found = new Set(others.map(({ type }) => canonical(type, otherNames)))
  return types.filter(({ type }) => !found.has(canonical(type, names)))
}

type Supertypes = NonNullable<SurfaceDeclaration['supertypes']>

const supertypesOf = ({ supertypes }: SurfaceDeclaration): Supertypes => supertypes ?? []
const on = (types: Supertypes): Supertypes => types.filter(({ relation }) => relation === 'on')
const represented = (types: Supertypes): Supertypes => types.filter(({ relation }) => relation === 'represents')
const subtypes = (types: Supertypes): Supertypes => types.filter(({ relation }) => relation !== 'on' && relation !== 'represents')

/** A type without its arguments and import prefix. */
const baseName = (type: string): string => /^(?:[a-z_][\w$]*\.)?([\w$]+)/.exec(type)?.[1] ?? type

/** Past them nobody looks. */
const mostAncestors = 60

/** The names of all types above one, and the public ones of this package among them; not whole where a private one hides some. */
export function ancestorsOf(
  declaration: SurfaceDeclaration,
  types: Types,
): { names: Set<string>; known: SurfaceDeclaration[]; isWhole: boolean } {
  const names = new Set<string>()
  const known = new Set([declaration])
  for (const each of known) {
    if (names.size > mostAncestors) return { names, known: [...known].slice(1), isWhole: false }
    for (const { type } of subtypes(supertypesOf(each))) {
      names.add(baseName(type))
      const parent = types.get(baseName(type))
      if (parent !== undefined) known.add(parent)
    }
  }
  return { names, known: [...known].slice(1), isWhole: ![...names].some((name) => name.startsWith('_')) }
}
