import { type Callable, callableOf, type Parameter } from '../signature.ts'
import type { TypeLookup } from '../types/known-types.ts'
import { type DartType, parseType } from '../types/parse.ts'
import { isSubtype } from '../types/relation.ts'

/** Describes what certainly breaks for callers when one signature replaces another. */
export function callBreaks(before: string, after: string, typing: Typing): string[] {
  if (Math.max(before.length, after.length) > maxSignatureLength) return []
  const [earlier, later] = [callableOf(before), callableOf(after)]
  if (earlier === null || later === null) return []
  const own = inside(typing, earlier.typeParameters, later.typeParameters)
  return [
    ...modifierBreaks(earlier, later),
    ...typeParameterBreaks(earlier.typeParameters, later.typeParameters, own),
    ...(isIncompatibleResult(earlier.returns, later.returns, own)
      ? [`it returns \`${later.returns}\` in place of \`${earlier.returns}\``]
      : []),
    ...positionalBreaks(positional(earlier), positional(later), own),
    ...namedBreaks(named(earlier), named(later), own),
  ]
}

/** Treats new type parameters as `dynamic`: existing callers have the type arguments inferred, so any argument is accepted. */
function inferring(typeParameters: readonly string[], lookUp: TypeLookup): TypeLookup {
  const names = new Set(typeParameters.map(nameIn))
  return (name) => (names.has(name) ? { parameters: [], alias: 'dynamic' } : lookUp(name))
}

/** Maximum length of signatures that are compared, in characters. */
const maxSignatureLength = 50_000

/** Context of a comparison: the type parameters in scope on either side as written, outermost first, and the resolution of type names. */
export type Typing = { before: readonly string[]; after: readonly string[]; lookUp: TypeLookup; steps: { left: number } }

/** Returns the context inside a declaration with type parameters of its own. */
export const inside = (typing: Typing, before: readonly string[], after: readonly string[]): Typing =>
  before.length === 0
    ? { ...typing, lookUp: inferring(after, typing.lookUp) }
    : { ...typing, before: [...typing.before, ...before], after: [...typing.after, ...after] }

/** Whether a value of the later type certainly cannot replace a value of the earlier type that callers receive. */
export const isIncompatibleResult = (before: string, after: string, typing: Typing): boolean =>
  isCertainlyNotSubtype('received', after, before, typing)

/** Whether an argument of the earlier type certainly cannot be passed as the later type. */
export const isIncompatibleArgument = (before: string, after: string, typing: Typing): boolean =>
  isCertainlyNotSubtype('passed', before, after, typing)

function isCertainlyNotSubtype(use: 'received' | 'passed', type: string, above: string, typing: Typing): boolean {
  if (type === above || type === '' || above === '' || typing.steps.left <= 0) return false
  const [own, theirs] = use === 'received' ? [typing.after, typing.before] : [typing.before, typing.after]
  const [a, b] = [parseType(type, scopeOf(own)), parseType(above, scopeOf(theirs))]
  if (a === null || b === null) return false
  const most = Math.min(stepsPerQuestion, typing.steps.left)
  const steps = { left: most }
  const answer = isSubtype({ lookUp: typing.lookUp, bounds: boundsOf(own), steps }, a, b, use)
  typing.steps.left -= most - Math.max(steps.left, 0)
  return answer === 'no'
}

const stepsPerQuestion = 2000
const scopeOf = (parameters: readonly string[]): Map<string, string> => new Map(parameters.map((each, at) => [nameIn(each), `#${at}`]))

/** Returns the name of a type parameter, without its bound. */
const nameIn = (parameter: string): string => /^[\w$]+/.exec(parameter)?.[0] ?? parameter
const boundOf = (parameter: string): string => /^[\w$]+ extends (.+)$/s.exec(parameter)?.[1] ?? 'Object?'

function boundsOf(parameters: readonly string[]): Map<string, DartType> {
  const bounds = parameters.map((each) => parseType(boundOf(each), scopeOf(parameters)))
  return new Map(bounds.flatMap((bound, at) => (bound === null ? [] : [[`#${at}`, bound] as const])))
}

/** Describes what may break for callers that pass type arguments. Both parameter lists must be in scope. */
export function typeParameterBreaks(before: readonly string[], after: readonly string[], typing: Typing): string[] {
  if (before.length === 0) return []
  if (before.length !== after.length) return ['the number of its type parameters differs']
  const isNarrower = before.some((parameter, at) => isIncompatibleArgument(boundOf(parameter), boundOf(after[at] ?? ''), typing))
  return isNarrower ? ['the bounds of its type parameters differ'] : []
}

function modifierBreaks(before: Callable, after: Callable): string[] {
  const [was, is] = [new Set(before.modifiers), new Set(after.modifiers)]
  return [
    ...(was.has('const') && !is.has('const') ? ['it is no longer `const`'] : []),
    ...(was.has('static') !== is.has('static') ? [`it is ${is.has('static') ? 'now' : 'no longer'} \`static\``] : []),
  ]
}

const positional = ({ parameters }: Callable): Parameter[] => parameters.filter(({ isNamed }) => !isNamed)
const named = ({ parameters }: Callable): Parameter[] => parameters.filter(({ isNamed }) => isNamed)

function positionalBreaks(before: readonly Parameter[], after: readonly Parameter[], typing: Typing): string[] {
  const found: string[] = []
  for (const [index, { name, type, isRequired }] of before.entries()) {
    const now = after[index]
    if (now === undefined) found.push(`the parameter \`${name}\` was removed`)
    else if (!isRequired && now.isRequired) found.push(`the parameter \`${now.name}\` is required`)
    else if (isIncompatibleArgument(type, now.type, typing))
      found.push(`the parameter \`${now.name}\` is a \`${now.type}\` in place of a \`${type}\``)
  }
  const demanded = after.slice(before.length).filter(({ isRequired }) => isRequired)
  return [...found, ...demanded.map(({ name }) => `the parameter \`${name}\` is required`)]
}

function namedBreaks(before: readonly Parameter[], after: readonly Parameter[], typing: Typing): string[] {
  const later = new Map(after.map((parameter) => [parameter.name, parameter]))
  const earlier = new Map(before.map((parameter) => [parameter.name, parameter]))
  const gone = before.filter(({ name }) => !later.has(name)).map(({ name }) => `the parameter \`${name}\` was removed`)
  const found = after.flatMap(({ name, type, isRequired }) => {
    const was = earlier.get(name)
    if (isRequired && was?.isRequired !== true) return [`the parameter \`${name}\` is required`]
    if (was === undefined || !isIncompatibleArgument(was.type, type, typing)) return []
    return [`the parameter \`${name}\` is a \`${type}\` in place of a \`${was.type}\``]
  })
  return [...gone, ...found]
}

/** Name, kind and signature of a declaration or member. */
export type Named = { kind: string; name: string; signature: string }

type Accessors = { read: string | null; write: string | null; isConstant: boolean; isStatic: boolean }

/** Describes what breaks for code that reads or sets a variable, field, getter or setter. Replacing one by another is not a break. */
export function accessBreaks(before: readonly Named[], after: readonly Named[], typing: Typing): string[] {
  const [was, is] = [accessorsOf(before), accessorsOf(after)]
  const lost = [
    ...(was.read !== null && is.read === null ? ['it can no longer be read'] : []),
    ...(was.write !== null && is.write === null ? ['it can no longer be set'] : []),
    ...(was.isConstant && !is.isConstant ? ['it is no longer constant'] : []),
    ...(was.isStatic !== is.isStatic ? [`it is ${is.isStatic ? 'now' : 'no longer'} \`static\``] : []),
  ]
  const isOtherWhenRead = was.read !== null && is.read !== null && isIncompatibleResult(was.read, is.read, typing)
  const isOtherWhenSet = was.write !== null && is.write !== null && isIncompatibleArgument(was.write, is.write, typing)
  if (isOtherWhenRead || (isOtherWhenSet && was.write === was.read && is.write === is.read))
    return [...lost, `its type is \`${is.read}\` in place of \`${was.read}\``]
  return isOtherWhenSet ? [...lost, `it takes \`${is.write}\` in place of \`${was.write}\``] : lost
}

function accessorsOf(all: readonly Named[]): Accessors {
  const found: Accessors = { read: null, write: null, isConstant: false, isStatic: false }
  for (const { kind, name, signature } of all) {
    const [, isStatic = '', rest = ''] = /^(static )?(.*)$/s.exec(signature) ?? []
    found.isStatic ||= isStatic !== '' || kind === 'enum value'
    found.isConstant ||= kind === 'constant' || kind === 'enum value'
    if (kind === 'setter') found.write = callableOf(rest)?.parameters[0]?.type ?? ''
    else {
      const [, modifier = '', type = ''] = /^((?:const|final|var) ?)?(.*)$/s.exec(rest.slice(0, -name.length).trimEnd()) ?? []
      found.read = kind === 'enum value' ? '' : type.replace(/ ?\bget$/, '')
      if ((kind === 'field' || kind === 'variable') && modifier.trim() !== 'final') found.write = found.read
    }
  }
  return found
}
