import {
  getNamedType,
  getNullableType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import type { Answer, ok } from './route.ts'

type Json = Record<string, unknown>

const scalars: Record<string, Json> = {
  String: { type: 'string' },
  ID: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  BigInt: { type: 'integer' },
  DateTime: { type: 'string', format: 'date-time' },
  URL: { type: 'string', format: 'uri' },
  SemVer: { type: 'string' },
}

/** JSON Schema of what an input type takes over REST: the values of an enum are lower-case words there. */
export function inputSchema(type: GraphQLInputType): Json {
  const bare = getNullableType(type)
  if (isListType(bare)) return { type: 'array', items: inputSchema(bare.ofType) }
  if (isEnumType(bare)) return { type: 'string', enum: bare.getValues().map(({ name }) => name.toLowerCase()) }
  if (!isInputObjectType(bare)) return scalars[String(bare)] ?? {}
  const fields = Object.values(bare.getFields())
  const required = fields.filter((field) => isNonNullType(field.type)).map((field) => field.name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [field.name, { ...inputSchema(field.type), ...(field.description && { description: field.description }) }]),
    ),
    ...(required.length && { required }),
  }
}

/** JSON Schema of a route's answer, from what its operation selects. */
export function answerSchema(
  schema: GraphQLSchema,
  definition: OperationDefinitionNode,
  answer: Answer | undefined,
  acknowledged: typeof ok,
): Json {
  if (answer === acknowledged) return { type: 'object', properties: { status: { const: 'ok' } }, required: ['status'] }
  if (typeof answer === 'object' && 'from' in answer) return answer.schema ? { ...answer.schema } : { type: 'object' }
  const root = definition.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType()
  const data = selectionSchema(root as GraphQLObjectType, definition.selectionSet)
  if (answer === undefined) return data
  if (typeof answer === 'string') return at(data, answer.split('.'))
  if (typeof answer !== 'object' || !('page' in answer)) return data
  const connection = at(data, [answer.page])
  const nodes = at(connection, ['nodes'])
  return {
    type: 'object',
    properties: {
      [answer.of]: 'type' in nodes ? nodes : at(connection, ['edges']),
      page: { type: 'integer' },
      pageSize: { type: 'integer' },
      totalCount: { type: 'integer' },
      totalPages: { type: 'integer' },
    },
  }
}

/** A parameter in the path. */
export const pathParameter = (name: string): Json => ({ name, in: 'path', required: true, schema: { type: 'string' } })

function at(schema: Json, path: string[]): Json {
  return path.reduce<Json>((inner, key) => (inner.properties as Record<string, Json> | undefined)?.[key] ?? {}, schema)
}

function selectionSchema(type: GraphQLObjectType, { selections }: SelectionSetNode): Json {
  const properties: Record<string, Json> = {}
  for (const selection of selections) {
    if (selection.kind !== Kind.FIELD) continue
    const field = type.getFields()[selection.name.value]
    if (field) properties[selection.alias?.value ?? selection.name.value] = outputSchema(field.type, selection.selectionSet)
  }
  return { type: 'object', properties, required: Object.keys(properties) }
}

function outputSchema(type: GraphQLOutputType, selection: SelectionSetNode | undefined): Json {
  const nullable = !isNonNullType(type)
  const bare = getNullableType(type)
  const schema = isListType(bare) ? { type: 'array', items: outputSchema(bare.ofType, selection) } : namedSchema(bare, selection)
  return nullable ? { anyOf: [schema, { type: 'null' }] } : schema
}

function namedSchema(type: GraphQLOutputType, selection: SelectionSetNode | undefined): Json {
  const named = getNamedType(type)
  if (isEnumType(named)) return { type: 'string', enum: named.getValues().map(({ name }) => name) }
  if (isObjectType(named) && selection) return selectionSchema(named, selection)
  return scalars[named.name] ?? {}
}
