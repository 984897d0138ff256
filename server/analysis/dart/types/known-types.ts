import { callableOf, typeParametersOf } from '../signature.ts'
import type { SurfaceDeclaration } from '../surface.ts'
import { coreTypes } from './core-types.ts'

/** A resolved type name: a type with its supertypes, or an alias. Types are as written. */
export type KnownType = { parameters: string[] } & ({ supertypes: string[] } | { alias: string })

/** Resolves a type name. Returns null for types of other packages. */
export type TypeLookup = (name: string) => KnownType | null

/** Creates a lookup that searches the declarations of the later version, then those of the earlier version, then the types of the Dart SDK. */
export function lookUpIn(later: ReadonlyMap<string, SurfaceDeclaration>, earlier: ReadonlyMap<string, SurfaceDeclaration>): TypeLookup {
  const known = new Map<string, KnownType | null>()
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    const declaration = later.get(name) ?? earlier.get(name)
    const type = declaration === undefined ? (coreTypes.get(name) ?? null) : knownType(declaration)
    known.set(name, type)
    return type
  }
}

function knownType(declaration: SurfaceDeclaration): KnownType | null {
  const parameters = typeParametersOf(declaration)
  if (declaration.kind !== 'typedef') {
    const above = (declaration.supertypes ?? []).filter(({ relation }) => relation !== 'represents')
    return { parameters, supertypes: above.map(({ type }) => type) }
  }
  const alias = aliasedBy(declaration)
  return alias === null ? null : { parameters, alias }
}

/** Returns the aliased type of a typedef as written, or null if it cannot be parsed. */
export function aliasedBy({ signature }: SurfaceDeclaration): string | null {
  const modern = /^typedef [\w$]+ ?(?:<.*?>)? ?= ?(.+)$/s.exec(signature)?.[1]
  if (modern !== undefined) return modern
  const old = callableOf(signature.replace(/^typedef /, ''))
  if (old === null) return null
  const positional = old.parameters.filter(({ isNamed }) => !isNamed)
  const typed = ({ type, name }: { type: string; name: string }) => `${type || 'dynamic'} ${name}`
  const required = positional.filter(({ isRequired }) => isRequired).map(typed)
  const optional = positional.filter(({ isRequired }) => !isRequired).map(typed)
  const named = old.parameters.filter(({ isNamed }) => isNamed).map((each) => `${each.isRequired ? 'required ' : ''}${typed(each)}`)
  const inside = [
    ...required,
    ...(optional.length > 0 ? [`[${optional.join(', ')}]`] : []),
    ...(named.length > 0 ? [`{${named.join(', ')}}`] : []),
  ]
  return `${old.returns || 'dynamic'} Function(${inside.join(', ')})`
}
