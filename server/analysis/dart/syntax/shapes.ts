import type { Node } from 'web-tree-sitter'
import { typeOfPlaceholder } from './values.ts'

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

const variablesIn = (list: Node): Variable[] =>
  list.namedChildren.flatMap((child) => {
    const name = child.type === 'identifier' ? child : child.namedChildren.find(({ type }) => type === 'identifier')
    if (name === undefined) return []
    const value = child.text.slice(name.endIndex - child.startIndex).replace(/^\s*=\s*/, '')
    return [{ name: name.text, valueType: typeOfPlaceholder(value) }]
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
