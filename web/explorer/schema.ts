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

/** Finds types and fields whose name contains the words, at most `limit`, exact and short names first. */
export function searchSchema(schema: GraphQLSchema, words: string, limit = 50): { type: string; member: string | null }[] {
  const wanted = words.trim().toLowerCase()
  if (!wanted) return []
  const found = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) => [{ type: type.name, member: null }, ...membersOf(type).map(({ name }) => ({ type: type.name, member: name }))])
    .filter(({ type, member }) => (member ?? type).toLowerCase().includes(wanted))
  const lengthOf = ({ type, member }: (typeof found)[number]) => (member ?? type).length
  return found.toSorted((a, b) => lengthOf(a) - lengthOf(b)).slice(0, limit)
}

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
