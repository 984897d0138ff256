/** A parsed type. Aliases are not resolved, and import prefixes are omitted. */
export type DartType =
  | { kind: 'name'; name: string; arguments: DartType[] }
  | { kind: 'nullable'; of: DartType }
  | ({ kind: 'function'; generics: string[]; returns: DartType } & Fields)
  | ({ kind: 'record' } & Fields)
  /** A type parameter in scope. The id is unique, even if names are equal. */
  | { kind: 'parameter'; id: string }

/** The parameters of a function type, or the fields of a record type. */
type Fields = { positional: PositionalType[]; named: NamedType[] }
type PositionalType = { type: DartType; isRequired: boolean }
type NamedType = PositionalType & { name: string }

/** The ids of the type parameters in scope, by name. */
export type TypeScope = ReadonlyMap<string, string>

export const named = (name: string, ...args: DartType[]): DartType => ({ kind: 'name', name, arguments: args })
export const dynamicType = named('dynamic')

/** Parses a type such as `Map<String, int Function(num x)?>`. Returns null for other, too long or too deeply nested texts. */
export function parseType(text: string, scope: TypeScope): DartType | null {
  if (text.length > maxTypeLength) return null
  const reader: Reader = { tokens: text.match(tokens) ?? [], at: 0, depth: 0 }
  const type = typeAt(reader, scope)
  return reader.at === reader.tokens.length ? type : null
}

const maxTypeLength = 10_000
const maxTypeDepth = 40
const tokens = /[\w$]+|\S/g

type Reader = { tokens: string[]; at: number; depth: number }

const peek = ({ tokens: all, at }: Reader, ahead = 0): string => all[at + ahead] ?? ''

function take(reader: Reader, token: string): boolean {
  if (peek(reader) !== token) return false
  reader.at++
  return true
}

const isWord = (token: string): boolean => /^[A-Za-z_$]/.test(token)

function typeAt(reader: Reader, scope: TypeScope): DartType | null {
  if (++reader.depth > maxTypeDepth) return null
  let type = isFunctionNext(reader) ? dynamicType : peek(reader) === '(' ? recordAt(reader, scope) : nameAt(reader, scope)
  while (type !== null) {
    if (take(reader, '?')) type = { kind: 'nullable', of: type }
    else if (isFunctionNext(reader)) type = functionAt(reader, type, scope)
    else break
  }
  reader.depth--
  return type
}

const isFunctionNext = (reader: Reader): boolean => peek(reader) === 'Function' && (peek(reader, 1) === '(' || peek(reader, 1) === '<')

function nameAt(reader: Reader, scope: TypeScope): DartType | null {
  let name = peek(reader)
  if (!isWord(name)) return null
  reader.at++
  while (peek(reader) === '.' && isWord(peek(reader, 1))) {
    name = peek(reader, 1)
    reader.at += 2
  }
  const id = scope.get(name)
  if (id !== undefined) return { kind: 'parameter', id }
  const args = take(reader, '<') ? listAt(reader, '>', () => typeAt(reader, scope)) : []
  return args && { kind: 'name', name, arguments: args }
}

/** Parses comma-separated items up to and including a closing bracket. */
function listAt<T>(reader: Reader, close: string, item: () => T | null): T[] | null {
  const items: T[] = []
  while (!take(reader, close)) {
    const found = item()
    if (found === null) return null
    items.push(found)
    if (!take(reader, ',') && peek(reader) !== close) return null
  }
  return items
}

function functionAt(reader: Reader, returns: DartType, outer: TypeScope): DartType | null {
  reader.at++
  const scope = new Map(outer)
  const generics = take(reader, '<') ? listAt(reader, '>', () => genericAt(reader, scope)) : []
  if (generics === null || !take(reader, '(')) return null
  // The return type precedes the declaration of the type parameters that it may mention.
  const own = new Map([...scope].filter(([, id]) => generics.includes(id)))
  const fields = fieldsAt(reader, scope, true)
  return fields && { kind: 'function', generics, returns: rebound(returns, own), ...fields }
}

/** Parses parameters of a function type or fields of a record type, up to the closing parenthesis. */
function fieldsAt(reader: Reader, scope: TypeScope, isFunction: boolean): Fields | null {
  const items = listAt<(PositionalType | NamedType)[]>(reader, ')', () => {
    if (isFunction && take(reader, '[')) return listAt(reader, ']', () => parameterAt(reader, scope, false))
    if (take(reader, '{')) return listAt(reader, '}', () => namedAt(reader, scope))
    const one = parameterAt(reader, scope, true)
    return one && [one]
  })
  const all = items?.flat()
  return all ? { positional: all.filter((item) => !('name' in item)), named: all.filter((item) => 'name' in item) } : null
}

let lastId = 0

/** Parses a type parameter and returns its unique id. */
function genericAt(reader: Reader, scope: Map<string, string>): string | null {
  const name = peek(reader)
  if (!isWord(name)) return null
  reader.at++
  const id = `generic ${++lastId}`
  scope.set(name, id)
  return take(reader, 'extends') && typeAt(reader, scope) === null ? null : id
}

/** Replaces names in a type that refer to type parameters in scope. */
const rebound = (type: DartType, scope: TypeScope): DartType =>
  scope.size === 0
    ? type
    : replaceTypes(type, (each) => {
        const id = each.kind === 'name' ? scope.get(each.name) : undefined
        return id === undefined ? null : { kind: 'parameter', id }
      })

/** Replaces parts of a type. Visits at most `parts.left` parts. */
export function replaceTypes(type: DartType, replacement: (part: DartType) => DartType | null, parts = { left: 10_000 }): DartType {
  if (--parts.left < 0) return type
  const inside = (part: DartType) => replaceTypes(part, replacement, parts)
  const found = replacement(type)
  if (found !== null) return found
  if (type.kind === 'name') return named(type.name, ...type.arguments.map(inside))
  if (type.kind === 'nullable') return { kind: 'nullable', of: inside(type.of) }
  if (type.kind === 'parameter') return type
  const returns = type.kind === 'function' ? { returns: inside(type.returns) } : {}
  const replaced = <T extends { type: DartType }>(all: T[]) => all.map((each) => ({ ...each, type: inside(each.type) }))
  return { ...type, ...returns, positional: replaced(type.positional), named: replaced(type.named) }
}

function parameterAt(reader: Reader, scope: TypeScope, isRequired: boolean): PositionalType | null {
  const type = typeAt(reader, scope)
  if (isWord(peek(reader))) reader.at++
  return type && { type, isRequired }
}

function namedAt(reader: Reader, scope: TypeScope): NamedType | null {
  const isRequired = peek(reader) === 'required' && isWord(peek(reader, 1)) && take(reader, 'required')
  const type = typeAt(reader, scope)
  const name = peek(reader)
  if (type === null || !isWord(name)) return null
  reader.at++
  return { name, type, isRequired }
}

function recordAt(reader: Reader, scope: TypeScope): DartType | null {
  reader.at++
  const fields = fieldsAt(reader, scope, false)
  return fields && { kind: 'record', ...fields }
}
