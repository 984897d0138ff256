import {
  buildSchema,
  getNamedType,
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isUnionType,
} from 'graphql'

const schemas = new Map<string, Promise<GraphQLSchema>>()

/** Loads the schema at this URL once. Rejects if it cannot be read. */
export function loadSchema(address: string): Promise<GraphQLSchema> {
  const loaded = schemas.get(address) ?? fetchSchema(address)
  schemas.set(address, loaded)
  loaded.catch(() => schemas.delete(address)) // the next call tries again
  return loaded
}

async function fetchSchema(address: string): Promise<GraphQLSchema> {
  const response = await fetch(address, { credentials: 'same-origin' })
  if (!response.ok) throw new Error(`The schema could not be loaded (status ${response.status}).`)
  return buildSchema(await response.text(), { assumeValid: true })
}

/** A member of a type: a field, an argument, an input field or an enum value. `type` is null for enum values and members of unions. */
export type Member = {
  name: string
  description: string
  deprecation: string | null
  type: { text: string; name: string } | null
  arguments: Member[]
}

/** Describes a type for the documentation. Returns null for a type that does not exist. */
export function describeType(
  schema: GraphQLSchema,
  name: string,
): { name: string; kind: string; description: string; members: Member[] } | null {
  const type = schema.getType(name)
  return type ? { name, kind: kindOf(type), description: type.description ?? '', members: membersOf(type) } : null
}

/** A type, a member of a type, or an argument of a field. */
export interface SchemaHit {
  type: string
  member: string | null
  argument: string | null
  description: string
}

/**
 * Finds types, members and arguments that contain all words in their name or description: exact names first, then names that contain the words, the
 * shortest first, then descriptions.
 */
export function searchSchema(schema: GraphQLSchema, query: string): SchemaHit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const isIn = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  const rankOf = (hit: SchemaHit) => {
    const name = nameOf(hit)
    if (name.toLowerCase() === words.join('')) return 0
    return isIn(name) ? name.length : maxNameLength + name.length
  }
  return Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type))
    .flatMap(hitsIn)
    .filter((hit) => isIn(`${nameOf(hit)} ${hit.description}`))
    .toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** More than the length of any name. */
const maxNameLength = 1000
const nameOf = ({ type, member, argument }: SchemaHit) => argument ?? member ?? type

const hitsIn = (type: GraphQLNamedType): SchemaHit[] => [
  { type: type.name, member: null, argument: null, description: type.description ?? '' },
  ...membersOf(type).flatMap(({ name: member, description, arguments: args }) => [
    { type: type.name, member, argument: null, description },
    ...args.map((argument) => ({ type: type.name, member, argument: argument.name, description: argument.description })),
  ]),
]

function kindOf(type: GraphQLNamedType): string {
  if (isObjectType(type)) return 'Object'
  if (isInputObjectType(type)) return 'Input'
  if (isEnumType(type)) return 'Enum'
  if (isInterfaceType(type)) return 'Interface'
  return isUnionType(type) ? 'Union' : 'Scalar'
}

function membersOf(type: GraphQLNamedType): Member[] {
  if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type))
    return Object.values(type.getFields()).map((field) => ({
      ...described(field),
      arguments:
        'args' in field ? (field.args as readonly GraphQLArgument[]).map((argument) => ({ ...described(argument), arguments: [] })) : [],
    }))
  const plain = { type: null, arguments: [] }
  if (isEnumType(type))
    return type.getValues().map(({ name, description, deprecationReason }) => ({
      name,
      description: description ?? '',
      deprecation: deprecationReason ?? null,
      ...plain,
    }))
  if (isUnionType(type))
    return type.getTypes().map(({ name }) => ({ name, description: '', deprecation: null, type: { text: name, name }, arguments: [] }))
  return []
}

type Described = Pick<GraphQLArgument, 'name' | 'description' | 'deprecationReason' | 'type'>

const described = ({ name, description, deprecationReason, type }: Described) => ({
  name,
  description: description ?? '',
  deprecation: deprecationReason ?? null,
  type: { text: String(type), name: getNamedType(type).name },
})
