import type { Node } from 'web-tree-sitter'
import { endOfBracket, endOfTypeArguments, plainTokenAt } from './tokens.ts'

/** The parsed form of a declaration or member. */
export type Shape =
  | { kind: 'function' | 'getter' | 'setter' | 'operator' | 'constructor' | 'typedef'; name: string; signature: string }
  | { kind: 'variables'; prefix: string; variables: Variable[] }

/** A variable, with the type of its value if it is evident. */
export type Variable = { name: string; valueType: string | null }

/** Finds the declaration among the syntax nodes of a piece. Returns null if no node is of a known kind. */
export function shapeOf(nodes: readonly Node[], code: string, from: number): Shape | null {
  const found = signatureAmong(nodes)
  if (found === null) return null
  const { node, kind } = found
  if (kind === 'variables') return { kind, prefix: code.slice(from, node.startIndex), variables: variablesIn(node) }
  const signature = code.slice(from, endOf(node))
  return { kind, signature, name: nameOf(kind, node) }
}

const kinds = new Map([
  ['function_signature', 'function'],
  ['getter_signature', 'getter'],
  ['setter_signature', 'setter'],
  ['operator_signature', 'operator'],
  ['constructor_signature', 'constructor'],
  ['constant_constructor_signature', 'constructor'],
  ['factory_constructor_signature', 'constructor'],
  ['redirecting_factory_constructor_signature', 'constructor'],
  ['type_alias', 'typedef'],
  ['initialized_identifier_list', 'variables'],
  ['static_final_declaration_list', 'variables'],
  ['identifier_list', 'variables'],
] as const)
const kindByType = new Map<string, Shape['kind']>(kinds)

/** Node types that may contain a signature. */
const wrappers = new Set(['declaration', 'method_declaration', 'method_signature', 'function_declaration', 'ERROR'])

function signatureAmong(nodes: readonly Node[]): { node: Node; kind: Shape['kind'] } | null {
  let level = nodes
  for (let depth = 0; depth < 4 && level.length > 0; depth++) {
    for (const node of level) {
      const kind = kindByType.get(node.type)
      if (kind !== undefined) return { node, kind }
    }
    level = level.filter(({ type }) => wrappers.has(type)).flatMap(({ namedChildren }) => namedChildren)
  }
  return null
}

/** Stands for the variable name `Function` in code for the grammar. */
export const functionName = '$Function$'

const variablesIn = (list: Node): Variable[] =>
  list.namedChildren.flatMap((child) => {
    const name = child.type === 'identifier' ? child : child.namedChildren.find(({ type }) => type === 'identifier')
    if (name === undefined) return []
    const value = child.text.slice(name.endIndex - child.startIndex).replace(/^\s*=\s*/, '')
    return [{ name: name.text === functionName ? 'Function' : name.text, valueType: typeOfPlaceholder(value) }]
  })

/** The signature of a redirecting factory ends before the redirection. */
function endOf(node: Node): number {
  if (node.type !== 'redirecting_factory_constructor_signature') return node.endIndex
  return node.namedChildren.find(({ type }) => type === 'formal_parameter_list')?.endIndex ?? node.endIndex
}

function nameOf(kind: Shape['kind'], node: Node): string {
  if (kind === 'constructor') return constructorName(node)
  if (kind === 'operator') return operatorName(node)
  if (kind === 'typedef') return typedefName(node)
  return node.childForFieldName('name')?.text ?? ''
}

/** Returns `Name` or `Name.named`. `Name.new` is returned as `Name`. */
function constructorName({ namedChildren }: Node): string {
  const parameters = namedChildren.findIndex(({ type }) => type === 'formal_parameter_list')
  const words = namedChildren.slice(0, parameters).filter(({ type }) => type === 'identifier' || type === 'type_identifier')
  return words
    .map(({ text }) => text)
    .join('.')
    .replace(/\.new$/, '')
}

function operatorName({ text, namedChildren }: Node): string {
  const mark = /\boperator\s*([^\s(]+)\s*\(/.exec(text)?.[1] ?? ''
  const isUnary = mark === '-' && namedChildren.at(-1)?.namedChildCount === 0
  return `operator ${isUnary ? 'unary-' : mark}`
}

function typedefName({ text, children }: Node): string {
  const isNew = children.some(({ type }) => type === '=')
  const before = children.findIndex(({ type }) => (isNew ? type === '=' : type === 'formal_parameter_list'))
  const names = children.slice(0, before).filter(({ type }) => type === 'type_identifier')
  return (isNew ? names[0] : names.at(-1))?.text ?? /\w+/.exec(text.slice(7))?.[0] ?? ''
}

/** Returns a short placeholder of the same type as the expression from `from` to `end` if its type is evident, else `0`. */
export function placeholderFor(text: string, from: number, end: number): string {
  const first = plainTokenAt(text, from)
  const isConst = text.slice(first.start, first.end) === 'const'
  const { kind, start, end: next } = isConst ? plainTokenAt(text, first.end) : first
  const word = text.slice(start, Math.min(next, start + 200))
  if (kind === 'string') return isStrings(text, next, end) ? "''" : '0'
  if (isLast(text, next, end)) {
    if (kind === 'number') return /^\d[\d_]*$|^0x/i.test(word) ? '1' : '1.5'
    return word === 'true' || word === 'false' ? 'true' : '0'
  }
  if (word === '<') return collectionAt(text, start, end)
  return kind === 'word' && /^_*[A-Z]/.test(word) ? objectAt(text, word, next, end, isConst) : '0'
}

const isLast = (text: string, at: number, end: number): boolean => plainTokenAt(text, at).start >= end

/** Whether the range from `from` to `end` contains only string literals, which Dart concatenates. */
function isStrings(text: string, from: number, end: number): boolean {
  let token = plainTokenAt(text, from)
  while (token.kind === 'string' && token.start < end) token = plainTokenAt(text, token.end)
  return token.start >= end
}

/** Returns the placeholder for a collection literal such as `<A>[…]`, `<A>{…}` or `<A, B>{…}`. */
function collectionAt(text: string, start: number, end: number): string {
  const inner = endOfTypeArguments(text, start) ?? end
  const bracket = plainTokenAt(text, inner).start
  const opening = text.charAt(bracket)
  const close = opening === '[' || opening === '{' ? endOfBracket(text, bracket) : null
  return close === null || !isLast(text, close, end) ? '0' : `${text.slice(start, inner)}${opening === '[' ? '[]' : '{}'}`
}

/** Returns the placeholder for `A(…)`, `A<B>(…)` or `const A.named(…)`. Without `const`, `A.named(…)` may be any call. */
function objectAt(text: string, name: string, next: number, end: number, isConst: boolean): string {
  let at = next
  const types = text.charAt(at) === '<' ? (endOfTypeArguments(text, at) ?? at) : at
  const type = name + text.slice(at, types)
  at = types
  if (isConst && text.charAt(at) === '.') at = plainTokenAt(text, at + 1).end
  const close = text.charAt(at) === '(' ? endOfBracket(text, at) : null
  return close === null || !isLast(text, close, end) ? '0' : `${type}()`
}

/** Returns the type of a placeholder, or null if the type is not evident. */
export function typeOfPlaceholder(value: string): string | null {
  const simple = simpleTypes.get(value)
  if (simple !== undefined) return simple
  if (value.endsWith('()')) return value.slice(0, -2)
  if (value.endsWith('[]')) return `List${value.slice(0, -2)}`
  return value.endsWith('{}') ? `${/^<[^<>]*(?:<[^<>]*>[^<>]*)*,/.test(value) ? 'Map' : 'Set'}${value.slice(0, -2)}` : null
}

const simpleTypes = new Map([
  ["''", 'String'],
  ['1', 'int'],
  ['1.5', 'double'],
  ['true', 'bool'],
])
