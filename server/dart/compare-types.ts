import { type Callable, callableOf, type Parameter, splitAtCommas } from './signature.ts'

/** What may break callers when the first signature becomes the second, in words; names of type parameters on either side do not matter. */
export function callBreaks(before: string, after: string, names: TypeNames): string[] {
  if (Math.max(before.length, after.length) > longestSignature) return ['it is too long to be compared']
  const [earlier, later] = [callableOf(before), callableOf(after)]
  if (earlier === null || later === null) return ['it is called in another way']
  const own = {
    before: [...names.before, ...earlier.typeParameters.map(nameIn)],
    after: [...names.after, ...later.typeParameters.map(nameIn)],
  }
  return [
    ...modifierBreaks(earlier, later),
    ...typeParameterBreaks(earlier.typeParameters, later.typeParameters, own),
    ...returnBreaks(earlier, later, own),
    ...parameterBreaks(earlier, later, own),
  ]
}

/** Nobody writes longer ones. */
const longestSignature = 50_000

/** The type parameters in sight on either side, outermost first. */
export type TypeNames = { before: readonly string[]; after: readonly string[] }

/** The name of a type parameter that may have a bound. */
export const nameIn = (parameter: string): string => /^[\w$]+/.exec(parameter)?.[0] ?? parameter

/** Whether two types are written alike: blanks, import prefixes, the names of type parameters and arguments that are `dynamic` do not matter, nor does a type that one side does not write. */
export function isSameType(before: string, after: string, names: TypeNames): boolean {
  if (before === after || before === '' || after === '') return true
  return canonical(before, names.before) === canonical(after, names.after)
}

/** The same text for types that are the same; those too long to be looked at stay as they are. */
export function canonical(type: string, names: readonly string[]): string {
  if (type.length > longestSignature) return type
  const plain = type.replace(/(?<![\w$.])[a-z_][\w$]*\.(?=[A-Z_])/g, '')
  const named = plain.replace(/[\w$]+/g, (word) => (names.includes(word) ? `#${names.lastIndexOf(word)}` : word))
  return withoutNames(named)
    .replace(/\s+/g, '')
    .replace(/<dynamic(?:,dynamic)*>/g, '')
}

/** Function types without the names of positional parameters, from the innermost out. */
function withoutNames(type: string): string {
  let plain = type
  for (let depth = 0; depth < 10 && /Function(?:<[^()]{0,300}>)?\(/.test(plain); depth++) {
    plain = plain.replace(/Function(<[^()]{0,300}>)?\(([^()]*)\)/g, (_, generic: string | undefined, inside: string) => {
      const types = splitAtCommas(inside).map((part) => (/^[{[]/.test(part) ? part : part.replace(/(?<=\S) +[\w$]+$/, '')))
      return `Function${generic ?? ''}⟨${types.join(',')}⟩`
    })
  }
  return plain
}

/** What takes a value of the first type takes one of the second. */
const accepts = (before: string, after: string, names: TypeNames): boolean =>
  isSameType(before, after, names) || widest.has(after) || isSameType(`${before}?`, after, names)

const widest = new Set(['dynamic', 'Object?'])

export function typeParameterBreaks(before: readonly string[], after: readonly string[], names: TypeNames): string[] {
  if (before.length === 0 || isSameType(boundsOf(before), boundsOf(after), names)) return []
  return before.length === after.length ? ['the bounds of its type parameters differ'] : ['it has other type parameters']
}

const boundsOf = (parameters: readonly string[]): string => parameters.join(',') || '-'

function modifierBreaks(before: Callable, after: Callable): string[] {
  const [was, is] = [new Set(before.modifiers), new Set(after.modifiers)]
  return [
    ...(was.has('const') && !is.has('const') ? ['it is no longer `const`'] : []),
    ...(was.has('static') !== is.has('static') ? [`it is ${is.has('static') ? 'now' : 'no longer'} \`static\``] : []),
  ]
}

function returnBreaks({ returns: before }: Callable, { returns: after }: Callable, names: TypeNames): string[] {
  const isFine = before === 'void' || isSameType(before, after, names) || isSameType(before, `${after}?`, names)
  return isFine ? [] : [`it returns \`${after}\` in place of \`${before}\``]
}

function parameterBreaks(before: Callable, after: Callable, names: TypeNames): string[] {
  return [...positionalBreaks(positional(before), positional(after), names), ...namedBreaks(named(before), named(after), names)]
}

const positional = ({ parameters }: Callable): Parameter[] => parameters.filter(({ isNamed }) => !isNamed)
const named = ({ parameters }: Callable): Parameter[] => parameters.filter(({ isNamed }) => isNamed)

function positionalBreaks(before: readonly Parameter[], after: readonly Parameter[], names: TypeNames): string[] {
  const found: string[] = []
  for (const [index, { name, type, isRequired }] of before.entries()) {
    const now = after[index]
    if (now === undefined) found.push(`the parameter \`${name}\` is gone`)
    else if (!isRequired && now.isRequired) found.push(`the parameter \`${now.name}\` is required`)
    else if (!accepts(type, now.type, names)) found.push(`the parameter \`${now.name}\` is a \`${now.type}\` in place of a \`${type}\``)
  }
  const demanded = after.slice(before.length).filter(({ isRequired }) => isRequired)
  return [...found, ...demanded.map(({ name }) => `the parameter \`${name}\` is required`)]
}

function namedBreaks(before: readonly Parameter[], after: readonly Parameter[], names: TypeNames): string[] {
  const later = new Map(after.map((parameter) => [parameter.name, parameter]))
  const earlier = new Map(before.map((parameter) => [parameter.name, parameter]))
  const gone = before.filter(({ name }) => !later.has(name)).map(({ name }) => `the parameter \`${name}\` is gone`)
  const found = after.flatMap(({ name, type, isRequired }) => {
    const was = earlier.get(name)
    if (isRequired && was?.isRequired !== true) return [`the parameter \`${name}\` is required`]
    return was === undefined || accepts(was.type, type, names)
      ? []
      : [`the parameter \`${name}\` is a \`${type}\` in place of a \`${was.type}\``]
  })
  return [...gone, ...found]
}
