import { getNamedType, type GraphQLField, type GraphQLNamedType, isLeafType, isNonNullType, isObjectType } from 'graphql'
import { schema } from '../../server/schema.ts'

type Field = GraphQLField<unknown, unknown>

/** Values of required arguments, by name. Without one, the field would be left out, so that is an error. */
const required: Record<string, string> = {
  version: '"1.0.0"',
  input: '{ visibility: PUBLIC }',
  path: '"README.md"',
  file: '"lib/acme.dart"',
  shell: 'POSIX',
  name: '"acme"',
  slug: '"acme"',
  query: '"acme"',
  markdown: '"# Hello"',
  lock: '"packages: {}"',
  token: '"unknown"',
  test: '"unknown"',
  id: '"unknown"',
  ids: '["unknown"]',
  requestId: '"unknown"',
  accountUuid: '"unknown"',
  userCode: '"unknown"',
  installId: '"unknown"',
  appId: '"unknown"',
  kind: 'PRIVACY',
  channel: 'STABLE',
  days: '30',
}

/** Returns the fields of an object type. */
export function fieldsOf(type: string): Field[] {
  const found = schema.getType(type)
  if (!isObjectType(found)) throw new Error(`${type} is not an object type`)
  return Object.values(found.getFields())
}

/**
 * Returns selections of a field that together select every field of its type, or of the nodes of a connection, and `id` of types in `covered`, whose
 * fields are selected elsewhere.
 */
export function selectionsOf(field: Field, covered: readonly string[]): string[] {
  const type = getNamedType(field.type)
  const call = `${field.name}${argumentsFor(field)}`
  if (isLeafType(type)) return [call]
  const nodes = nodeType(type)
  if (!nodes) return partsOf(type, covered).map((part) => `${call} { ${part} }`)
  return [`${call} { totalCount }`, ...partsOf(nodes, covered).map((part) => `${call} { nodes { ${part} } }`)]
}

/** Selects all scalars together and each other field alone. */
function partsOf(type: GraphQLNamedType, covered: readonly string[]): string[] {
  if (!isObjectType(type)) return ['__typename']
  if (covered.includes(type.name)) return ['id']
  const fields = Object.values(type.getFields())
  const isScalar = (field: Field) => isLeafType(getNamedType(field.type))
  const scalars = fields.filter(isScalar).map((field) => `${field.name}${argumentsFor(field)}`)
  const objects = fields.filter((field) => !isScalar(field)).map((field) => `${field.name}${argumentsFor(field)} { __typename }`)
  return [scalars.join(' '), ...objects].filter((part) => part !== '')
}

function nodeType(type: GraphQLNamedType): GraphQLNamedType | null {
  const nodes = type.name.endsWith('Connection') && isObjectType(type) ? type.getFields()['nodes'] : undefined
  return nodes ? getNamedType(nodes.type) : null
}

function argumentsFor(field: Field): string {
  const given = field.args.flatMap(({ name, type, defaultValue }) => {
    if (name === 'first') return ['first: 2']
    if (!isNonNullType(type) || defaultValue !== undefined) return []
    const value = required[name]
    if (value === undefined) throw new Error(`Add a value for the argument ${name} of ${field.name}.`)
    return [`${name}: ${value}`]
  })
  return given.length > 0 ? `(${given.join(', ')})` : ''
}
