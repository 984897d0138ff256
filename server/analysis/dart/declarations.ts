import type { Declaration, Member } from './api.ts'
import type { Head } from './heads.ts'
import { publicName, tidy } from './signature.ts'
import type { Shape, Variable } from './syntax/shapes.ts'

/** Documentation and location of a declaration. */
export type Around = Pick<Member, 'doc' | 'deprecated' | 'source'>
export type MemberAround = Around & Pick<Member, 'isOverride' | 'superConstructor'>

/** Returns the top-level declarations in a parsed piece of code. A variable declaration may declare several. */
export function declarationsOf(shape: Shape, around: Around): Declaration[] {
  const empty = { supertypes: [], members: [] }
  if (shape.kind === 'variables') {
    const prefix = tidy(shape.prefix, ignoredModifiers)
    const kind = /^const\b/.test(prefix) ? 'constant' : 'variable'
    return shape.variables.map((each) => ({ ...around, kind, name: each.name, signature: variableLine(prefix, each), ...empty }))
  }
  const { kind, name } = shape
  return kind === 'operator' || kind === 'constructor'
    ? []
    : [{ ...around, kind, name, signature: tidy(shape.signature, ignoredModifiers), ...empty }]
}

/** Formats a variable such as `final int x`. Adds the type of the value if no type is written. */
function variableLine(prefix: string, { name, valueType }: Variable): string {
  const isTyped = valueType === null || !/^(?:static )?(?:var|final|const)$/.test(prefix)
  return isTyped ? `${prefix} ${name}` : `${prefix.replace(/\bvar$/, '')} ${tidy(valueType)} ${name}`.replaceAll('  ', ' ').trimStart()
}

/** Returns the members in a parsed piece of code. */
export function membersOf(shape: Shape, className: string, around: MemberAround): Member[] {
  const code = shape.kind === 'variables' ? shape.prefix : shape.signature
  const line = tidy(code, ignoredModifiers)
  const isStatic = /^static\b/.test(line)
  if (shape.kind === 'variables') {
    const kind = /^(?:static )?const\b/.test(line) ? 'constant' : 'field'
    return shape.variables.map((variable) => ({ ...around, kind, name: variable.name, signature: variableLine(line, variable), isStatic }))
  }
  return [{ ...around, kind: memberKind(shape, line, className), name: shape.name, signature: line, isStatic }]
}

/** Returns the constructor and field that the header of an extension type declares. */
export function primaryMembers({ name, primary, supertypes }: Head, around: Around): Member[] {
  const [, suffix = '', parameter = ''] = /^(?:\.\s*([\w$]+))?\s*\((?:.*?\s)?([\w$]+)\s*\)$/s.exec(primary ?? '') ?? []
  const type = supertypes.find(({ relation }) => relation === 'represents')?.type
  if (type === undefined) return []
  const constructor = suffix === '' || suffix === 'new' ? name : `${name}.${suffix}`
  const own = { ...around, doc: null, deprecated: null, isStatic: false, isOverride: false }
  return [
    { ...own, kind: 'constructor', name: constructor, signature: `${constructor}(${type} ${parameter})` },
    { ...own, kind: 'field', name: parameter, signature: `final ${type} ${parameter}` },
  ]
}

/** Whether a name is public: no part of it begins with an underscore. */
export const isPublic = (name: string): boolean => name !== '' && !name.split('.').some((part) => part.startsWith('_'))

/** Adds the field type to constructor parameters such as `this.x`. */
export function withFieldTypes(members: readonly Member[], all: readonly Member[]): Member[] {
  const types = new Map(all.filter(({ kind }) => kind === 'field').map(({ name, signature }) => [name, typeOf(signature, name)]))
  return members.map((member) => (member.kind === 'constructor' ? { ...member, signature: typed(member.signature, types) } : member))
}

const typeOf = (signature: string, name: string): string => signature.slice(0, -name.length).replace(modifiers, '').trim()
const modifiers = /^(?:(?:static|final|const|var|late|covariant)\s+)*/

const typed = (signature: string, types: ReadonlyMap<string, string>): string =>
  signature
    .replace(/(?<=[({[]|, |required |final )this\.([\w$]+)(?![\w$<(])/g, (_, name: string, at: number) => {
      const [type = '', shown] = [types.get(name), isNamedAt(signature, at) ? publicName(name) : name]
      return type === '' ? `this.${shown}` : `${type} ${shown}`
    })
    .replace(/(?<!\b(?:required|final|const|covariant)) this\._(?=[A-Za-z$])/g, (written, at: number, whole: string) =>
      isNamedAt(whole, at) ? ' ' : written,
    )
    .replace(/(?<!\b(?:required|final|const|covariant)|,) (?:this|super)\.(?=[\w$])/g, ' ')

/** Whether an index in a constructor signature is inside the named parameters. */
export const isNamedAt = (signature: string, at: number): boolean => {
  const before = signature.slice(0, at)
  return before.split('{').length > before.split('}').length
}

/** Modifiers that are irrelevant to users of a declaration. */
const ignoredModifiers = new Set(['external', 'augment', 'late', 'abstract', 'covariant'])

/** The grammar cannot distinguish a constructor from a method without a return type; the name can. */
function memberKind({ kind, name }: Shape & { name: string }, line: string, className: string): Member['kind'] {
  if (kind !== 'function' && kind !== 'constructor') return kind === 'typedef' || kind === 'variables' ? 'method' : kind
  if (kind === 'function') return name === className && line.startsWith(name) ? 'constructor' : 'method'
  return name.split('.')[0] === className || /^(?:const|factory)\b/.test(line) ? 'constructor' : 'method'
}
