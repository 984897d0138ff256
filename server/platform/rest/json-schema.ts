import {
  getNamedType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  parse,
} from 'graphql'
import { z } from 'zod'
import { type AnswerField, fieldsOf } from './answer-fields.ts'
import { ok, type Produced, type Route } from './route.ts'

export type Json = Record<string, unknown>

const scalars: Record<string, Json> = {
  String: { type: 'string' },
  ID: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  BigInt: { type: 'integer' },
  JSON: { type: 'object' },
  DateTime: { type: 'string', format: 'date-time' },
  URL: { type: 'string', format: 'uri' },
  SemVer: { type: 'string' },
}

/** Returns the JSON Schema of an input type for REST, where enum values are lower case. */
export function inputSchema(type: GraphQLInputType): Json {
  const bare = getNullableType(type)
  if (isListType(bare)) return { type: 'array', items: inputSchema(bare.ofType) }
  if (isEnumType(bare)) return { type: 'string', enum: bare.getValues().map(({ name }) => name.toLowerCase()) }
  if (!isInputObjectType(bare)) return { ...scalars[String(bare)] }
  const fields = Object.values(bare.getFields()).filter(({ extensions }) => !extensions.isGraphqlOnly)
  const required = fields.filter((field) => isNonNullType(field.type)).map((field) => field.name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [field.name, { ...inputSchema(field.type), ...limitsOf(field), ...described(field) }]),
    ),
    ...(required.length && { required }),
  }
}

/** Returns the limits of the validation of an input field. */
function limitsOf({ extensions }: GraphQLInputField): Json {
  const { validate } = (extensions.pothosOptions ?? {}) as { validate?: unknown }
  if (!(validate instanceof z.ZodType)) return {}
  const json = zodSchema(validate)
  // Nullable values have their limits in the first alternative.
  const limits = Array.isArray(json.anyOf) ? (json.anyOf as Json[])[0] : json
  return Object.fromEntries(Object.entries(limits ?? {}).filter(([name]) => limitNames.has(name)))
}

const limitNames = new Set(['minimum', 'maximum', 'minLength', 'maxLength', 'maxItems'])

/** Returns the JSON Schema of a route's response, derived from the fields that its operation selects and the route's options. */
export function responseSchema(fields: readonly AnswerField[], { answer, required = {} }: Route): Json {
  const isThere = (path: string) => path in required
  if (answer === ok) return { type: 'object', properties: { status: { const: 'ok' } }, required: ['status'] }
  if (answer === undefined) return objectSchema(fields, '', isThere)
  if (typeof answer === 'string') return schemaAt(fields, answer, isThere)
  if ('from' in answer) return zodSchema(answer.schema)
  const connection = fieldAt(fields, answer.page)
  const nodes = connection.fields.find(({ key }) => key === 'nodes' || key === 'edges') as AnswerField
  const entries = answer.schema ? { type: 'array', items: zodSchema(answer.schema) } : fieldSchema(nodes, `${answer.page}.`, isThere)
  const numbers = ['page', 'pageSize', 'totalCount', 'totalPages']
  const { next } = answer
  return {
    type: 'object',
    properties: {
      [answer.of]: entries,
      ...Object.fromEntries(numbers.map((name) => [name, { type: 'integer' }])),
      ...(next && { [next.field]: next.isNullable ? orNull(nextUrl) : nextUrl }),
    },
    required: [answer.of, ...numbers, ...(next?.isNullable ? [next.field] : [])],
  }
}

const nextUrl = { type: 'string', format: 'uri', description: 'URL of the next page.' }

export function producedSchema(schema: GraphQLSchema, produced: NonNullable<Produced['schema']>): Json {
  if (produced instanceof z.ZodType) return zodSchema(produced)
  const [selection] = parse(`{ ${produced.fields} }`).definitions as OperationDefinitionNode[]
  const type = schema.getType(produced.graphqlType) as GraphQLObjectType
  return objectSchema(selection ? fieldsOf(type, selection.selectionSet) : [], '', () => false)
}

/** Converts a zod schema to JSON Schema. Omits patterns that a format implies, and the default bounds of integers. */
export function zodSchema(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.format) delete jsonSchema.pattern
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return json
}

type IsThere = (path: string) => boolean

function fieldAt(fields: readonly AnswerField[], path: string): AnswerField {
  const [first = '', ...rest] = path.split('.')
  const field = fields.find(({ key }) => key === first)
  if (!field) throw new Error(`Nothing is selected at ${path}`)
  return rest.length > 0 ? fieldAt(field.fields, rest.join('.')) : field
}

/** Whether a response has the field: it is not nullable, or null only if the request fails. */
const isAlwaysThere = ({ field }: AnswerField): boolean => isNonNullType(field.type) || field.extensions.isNullOnlyWithError === true

/** Returns the schema of the value at a path. Nullable if any object on the path is nullable. */
function schemaAt(fields: readonly AnswerField[], path: string, isThere: IsThere): Json {
  const keys = path.split('.')
  const parents = keys.map((_key, index) => keys.slice(0, index).join('.')).filter(Boolean)
  const mayLack = parents.some((parent) => !isThere(parent) && !isAlwaysThere(fieldAt(fields, parent)))
  const schema = fieldSchema(fieldAt(fields, path), parents.length > 0 ? `${parents.at(-1)}.` : '', isThere)
  return mayLack ? orNull(schema) : schema
}

function objectSchema(fields: readonly AnswerField[], path: string, isThere: IsThere): Json {
  const properties: Record<string, Json> = {}
  const required: string[] = []
  for (const field of fields) {
    if (field.isFlattened) {
      const inner = objectSchema(field.fields, `${path}${field.key}.`, isThere) as { properties: Record<string, Json>; required: string[] }
      const mayBeNull = !isAlwaysThere(field) && !isThere(path + field.key)
      for (const [key, schema] of Object.entries(inner.properties)) properties[key] = mayBeNull ? orNull(schema) : schema
      required.push(...inner.required)
    } else {
      properties[field.key] = { ...fieldSchema(field, path, isThere), ...(field.change ? {} : described(field.field)) }
      if (!field.isOmittable && !field.change?.schema.safeParse(undefined).success) required.push(field.key)
    }
  }
  return { type: 'object', properties, required }
}

function fieldSchema(field: AnswerField, path: string, isThere: IsThere): Json {
  if (field.change) return zodSchema(field.change.schema)
  const here = path + field.key
  if (field.returnsAllNodes) return fieldSchema(field.fields.find(({ key }) => key === 'nodes') as AnswerField, `${here}.`, isThere)
  const schema = typeSchema(getNullableType(field.field.type), field, here, isThere)
  return isAlwaysThere(field) || field.isOmittable || isThere(here) ? schema : orNull(schema)
}

function typeSchema(type: GraphQLOutputType, field: AnswerField, path: string, isThere: IsThere): Json {
  if (isListType(type)) {
    const items = typeSchema(getNullableType(type.ofType), field, path, isThere)
    return { type: 'array', items: isNonNullType(type.ofType) ? items : orNull(items) }
  }
  // If several enum names share a value, the last one is used in responses.
  if (isEnumType(type)) {
    const names = new Map(type.getValues().map(({ value, name }) => [value, name.toLowerCase()]))
    return { type: 'string', enum: [...names.values()] }
  }
  return field.fields.length > 0 ? objectSchema(field.fields, `${path}.`, isThere) : { ...scalars[getNamedType(type).name] }
}

function orNull(schema: Json): Json {
  if (Array.isArray(schema.anyOf) || Array.isArray(schema.type)) return schema
  if (typeof schema.type === 'string' && !schema.enum && schema.type !== 'object') return { ...schema, type: [schema.type, 'null'] }
  const { description, ...rest } = schema
  return { anyOf: [rest, { type: 'null' }], ...(description !== undefined && { description }) }
}

type Described = { description?: string | null | undefined }

export const described = ({ description }: Described = {}): Json => (description ? { description } : {})
