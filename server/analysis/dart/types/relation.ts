import type { KnownType, TypeLookup } from './known-types.ts'
import { type DartType, dynamicType, named, parseType, replaceTypes, type TypeScope } from './parse.ts'

/** Result of a subtype check; `unknown` if it depends on types of other packages. */
export type Answer = 'yes' | 'no' | 'unknown'

/** Whether a value is returned to callers, which may call anything on `dynamic` but not on `Object?`, or is an argument. */
type Use = 'received' | 'passed'

/** Context of subtype checks. When no steps are left, the result is `unknown`. */
export type TypeJudge = { lookUp: TypeLookup; bounds: ReadonlyMap<string, DartType>; steps: { left: number } }

/** Whether `type` is a subtype of `above`. Source: the subtyping rules of the Dart language specification. */
export function isSubtype(judge: TypeJudge, type: DartType, above: DartType, use: Use): Answer {
  if (--judge.steps.left < 0) return 'unknown'
  const [a, b] = [resolve(judge, type), resolve(judge, above)]
  if (a === null || b === null) return 'unknown'
  if (isTop(b)) return use === 'received' && isNamed(b, 'dynamic') && isTopOrObject(a) && !isNamed(a, 'dynamic') ? 'no' : 'yes'
  if (isNamed(a, 'Never')) return 'yes'
  if (isTop(a)) return 'no'
  if (a.kind === 'nullable') return areSubtypes(judge, [named('Null'), a.of], [b, b], use)
  if (isNamed(a, 'FutureOr')) return areSubtypes(judge, [argumentOf(a), named('Future', argumentOf(a))], [b, b], use)
  if (b.kind === 'nullable') return isNamed(a, 'Null') ? 'yes' : isSubtype(judge, a, b.of, use)
  if (isNamed(b, 'FutureOr')) {
    const answer = isSubtype(judge, a, argumentOf(b), use)
    const other = answer === 'yes' ? answer : isSubtype(judge, a, named('Future', argumentOf(b)), use)
    return other === 'no' ? answer : other
  }
  return isPlainSubtype(judge, a, b, use)
}

/** Checks the subtype relation for types that are neither nullable, nor `FutureOr`, nor top types. */
function isPlainSubtype(judge: TypeJudge, a: DartType, b: DartType, use: Use): Answer {
  // Assumes that an unknown alias does not denote a nullable type.
  if (isNamed(a, 'Null')) return isNamed(b, 'Null') ? 'yes' : 'no'
  if (isNamed(b, 'Object')) return a.kind === 'parameter' ? 'unknown' : 'yes'
  if (a.kind === 'parameter') {
    if (b.kind === 'parameter' && a.id === b.id) return 'yes'
    return isSubtype(judge, judge.bounds.get(a.id) ?? { kind: 'nullable', of: named('Object') }, b, use)
  }
  if (b.kind === 'parameter') return 'no'
  if (a.kind === 'function' && b.kind === 'function') return isSubfunction(judge, a, b, use)
  if (a.kind === 'record' && b.kind === 'record') return isSubrecord(judge, a, b, use)
  if (a.kind === 'name' && b.kind === 'name') return isBelow(judge, a, b, use)
  if (isNamed(b, 'Function')) return a.kind === 'function' ? 'yes' : 'unknown'
  if (isNamed(b, 'Record')) return a.kind === 'record' ? 'yes' : 'no'
  // An unknown name may be an alias, and an object may be callable.
  return a.kind === 'name' || (b.kind === 'name' && judge.lookUp(b.name) === null) ? 'unknown' : 'no'
}

type NamedType = Extract<DartType, { kind: 'name' }>

/** Maximum number of supertypes visited per type. */
export const maxAncestors = 60
/** Maximum number of aliases that are followed. */
export const maxAliases = 20

function isBelow(judge: TypeJudge, a: NamedType, b: NamedType, use: Use): Answer {
  const [seen, queue] = [new Set<string>(), [a]]
  let isWhole = judge.lookUp(b.name) !== null
  for (const each of queue) {
    if (each.name === b.name) return areSubtypes(judge, each.arguments, b.arguments, use)
    if (seen.has(each.name)) continue
    seen.add(each.name)
    const known = seen.size > maxAncestors ? null : judge.lookUp(each.name)
    if (known === null || 'alias' in known) isWhole = false
    else {
      const above = supertypesOf(judge, known, each)
      isWhole &&= above !== null
      queue.push(...(above ?? []))
    }
  }
  return isWhole ? 'no' : 'unknown'
}

/** Returns the supertypes with type arguments substituted, or null if one cannot be parsed. */
function supertypesOf(judge: TypeJudge, known: KnownType & { supertypes: string[] }, { arguments: given }: NamedType): NamedType[] | null {
  const found: NamedType[] = []
  for (const written of known.supertypes) {
    const type = parseWith(written, known.parameters, given)
    const plain = type && resolve(judge, type)
    if (plain?.kind !== 'name') return null
    found.push(plain)
  }
  return found
}

/** Whether all types are subtypes of those at the same index of `b`. Omitted types are `dynamic`. */
function areSubtypes(judge: TypeJudge, a: readonly DartType[], b: readonly DartType[], use: Use): Answer {
  let found: Answer = 'yes'
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const answer = isSubtype(judge, a[at] ?? dynamicType, b[at] ?? dynamicType, use)
    if (answer === 'no') return 'no'
    if (answer === 'unknown') found = answer
  }
  return found
}

type FunctionType = Extract<DartType, { kind: 'function' }>

function isSubfunction(judge: TypeJudge, a: FunctionType, other: FunctionType, use: Use): Answer {
  if (a.generics.length !== other.generics.length) return 'no'
  const b = withGenerics(other, a.generics)
  if (a.positional.length < b.positional.length) return 'no'
  const isDemanding = a.positional.some(({ isRequired }, at) => isRequired && b.positional[at]?.isRequired !== true)
  const [own, theirs] = [a, b].map(({ named: all }) => new Map(all.map((each) => [each.name, each])))
  const isMissing = b.named.some(({ name }) => own?.has(name) !== true)
  if (isDemanding || isMissing || a.named.some(({ name, isRequired }) => isRequired && theirs?.get(name)?.isRequired !== true)) return 'no'
  const returns = isSubtype(judge, a.returns, b.returns, use)
  if (returns === 'no') return 'no'
  const given = [...b.positional, ...b.named].map(({ type }) => type)
  const taken = [...b.positional.map((_, at) => a.positional[at]?.type), ...b.named.map(({ name }) => own?.get(name)?.type)]
  const parameters = areSubtypes(
    judge,
    given,
    taken.map((type) => type ?? dynamicType),
    use === 'received' ? 'passed' : 'received',
  )
  return parameters === 'yes' ? returns : parameters
}

/** Replaces the ids of a function type's own type parameters. */
function withGenerics(type: FunctionType, generics: string[]): FunctionType {
  if (generics.length === 0) return type
  const ids = new Map(type.generics.map((id, at) => [id, generics[at] ?? id]))
  const found = replaceTypes(type, (part) => {
    const id = part.kind === 'parameter' ? ids.get(part.id) : undefined
    return id === undefined ? null : { kind: 'parameter', id }
  })
  return found.kind === 'function' ? { ...found, generics } : type
}

type RecordType = Extract<DartType, { kind: 'record' }>

function isSubrecord(judge: TypeJudge, a: RecordType, b: RecordType, use: Use): Answer {
  if (a.positional.length !== b.positional.length || a.named.length !== b.named.length) return 'no'
  const own = new Map(a.named.map(({ name, type }) => [name, type]))
  if (b.named.some(({ name }) => !own.has(name))) return 'no'
  const fields = [...a.positional.map(({ type }) => type), ...b.named.map(({ name }) => own.get(name) ?? dynamicType)]
  return areSubtypes(
    judge,
    fields,
    [...b.positional, ...b.named].map(({ type }) => type),
    use,
  )
}

/** Resolves aliases at the outside of a type. Returns null if aliases are cyclic or no steps are left. */
function resolve(judge: TypeJudge, type: DartType): DartType | null {
  let found = type
  for (let depth = 0; depth < maxAliases; depth++) {
    if (found.kind === 'nullable') {
      const inner = resolve(judge, found.of)
      return inner && (isTop(inner) || inner.kind === 'nullable' || isNamed(inner, 'Null') ? inner : { kind: 'nullable', of: inner })
    }
    if (found.kind !== 'name') return found
    // `FutureOr<void>` accepts any value, so it is equivalent to `void`.
    if (found.name === 'FutureOr') {
      const of = resolve(judge, argumentOf(found))
      return of !== null && isTop(of) ? of : found
    }
    const known = judge.lookUp(found.name)
    if (known === null || !('alias' in known)) return found
    if (--judge.steps.left < 0) return null
    const aliased = parseWith(known.alias, known.parameters, found.arguments)
    if (aliased === null) return null
    found = aliased
  }
  return null
}

function parseWith(written: string, parameters: readonly string[], given: readonly DartType[]): DartType | null {
  const scope: TypeScope = new Map(parameters.map((each, at) => [/^[\w$]+/.exec(each)?.[0] ?? each, `given ${at}`]))
  const type = parseType(written, scope)
  const byId = new Map(parameters.map((_, at) => [`given ${at}`, given[at] ?? dynamicType]))
  return type && replaceTypes(type, (part) => (part.kind === 'parameter' ? (byId.get(part.id) ?? null) : null))
}

const isNamed = (type: DartType, name: string): boolean => type.kind === 'name' && type.name === name
const argumentOf = (type: DartType): DartType => (type.kind === 'name' ? type.arguments[0] : undefined) ?? dynamicType
const isTop = (type: DartType): boolean =>
  isNamed(type, 'dynamic') || isNamed(type, 'void') || (type.kind === 'nullable' && isNamed(type.of, 'Object'))
const isTopOrObject = (type: DartType): boolean => isTop(type) || isNamed(type, 'Object')
