import type { FastifyRequest } from 'fastify'
import { encodeGlobalID } from '@pothos/plugin-relay'
import {
  getNamedType,
  type GraphQLInputType,
  type GraphQLSchema,
  type GraphQLEnumType,
  type GraphQLInputObjectType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql'
import { invalidInput, notFound } from '../../errors.ts'
import { invalidValue } from '../graphql/errors.ts'
import type { Route } from './route.ts'

type Values = Record<string, unknown>

export const pageSize = 50

/**
 * Returns a function that reads the variables of an operation from a request. `$input` gets the fields of the JSON body and path parameters; any
 * other variable is a path parameter, or else a query parameter. The query parameter `page` sets `$offset`. Unknown fields are ignored.
 */
export function variablesReader(
  schema: GraphQLSchema,
  definition: OperationDefinitionNode,
  route: Route,
): (request: FastifyRequest) => Values {
  const variables = (definition.variableDefinitions ?? []).map((node) => ({
    name: node.variable.name.value,
    type: typeFromAST(schema, node.type as never) as GraphQLInputType,
    required: node.type.kind === Kind.NON_NULL_TYPE,
  }))
  return (request) => {
    const path = withGlobalIds(request.params as Record<string, string>, route.ids)
    const query = request.query as Record<string, unknown>
    const values: Values = {}
    for (const { name, type } of variables) {
      if (isInputObjectType(getNamedType(type)) && name === 'input')
        values[name] = inputValue(getNamedType(type) as GraphQLInputObjectType, request.body, path, route)
      // For lists returned as a whole, the router sets the cursor itself.
      else if (name === 'after' && route.allNodes) continue
      else if (name === 'offset') values[name] = offsetOf(pageNumber(query.page))
      else if (path[name] !== undefined) values[name] = path[name]
      else if (query[name] !== undefined && query[name] !== '') values[name] = fromText(name, type, known(route, name, query[name]))
    }
    return values
  }
}

const known = ({ synonyms }: Route, name: string, value: unknown): unknown =>
  (typeof value === 'string' && new Map(Object.entries(synonyms?.[name] ?? {})).get(value)) || value

/** Parses the query parameter `page`; 1 if absent. Throws InvalidInput unless it is a positive integer that JSON numbers can represent. */
export function pageNumber(value: unknown): number {
  if (value === undefined) return 1
  if (typeof value !== 'string' || !/^[1-9]\d*$/.test(value)) throw invalidInput('page: must be a positive whole number.', 'page')
  if (!Number.isSafeInteger(Number(value))) throw invalidInput(`page: must be at most ${Number.MAX_SAFE_INTEGER}.`, 'page')
  return Number(value)
}

/** Returns the number of rows before a page, capped at the maximum GraphQL integer; pages beyond it are empty anyway. */
const offsetOf = (page: number): number => Math.min((page - 1) * pageSize, 2 ** 31 - 1)

function withGlobalIds(path: Record<string, string>, ids: Route['ids']): Record<string, string> {
  if (!ids) return path
  return Object.fromEntries(Object.entries(path).map(([name, value]) => [name, ids[name] ? globalId(ids[name], value) : value]))
}

/** Returns a global id. Throws NotFound for an empty id, which GraphQL would report in another format. */
function globalId(typename: string, id: string): string {
  if (id === '') throw notFound('No object has this id.')
  return encodeGlobalID(typename, id)
}

function inputValue(type: GraphQLInputObjectType, body: unknown, path: Record<string, string>, route: Route): unknown {
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw invalidInput('The body must be a JSON object.')
  const inPath = renamed(path, route.names)
  const fields = { ...knownFields(type, renamed((body ?? {}) as Values, route.names), []), ...inPath, ...route.fixedInput }
  for (const [name, typename] of Object.entries(route.ids ?? {})) {
    if (!(name in inPath) && typeof fields[name] === 'string') fields[name] = globalId(typename, fields[name])
  }
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in type.getFields()))
}

/** Renames fields from REST names to names of the input type. The original name of a renamed field is not accepted. */
function renamed<Value>(values: Record<string, Value>, names: Route['names'] = {}): Record<string, Value> {
  const ours = new Map(Object.entries(names))
  const hidden = new Set(ours.values())
  const known = Object.entries(values).filter(([name]) => ours.has(name) || !hidden.has(name))
  return Object.fromEntries(known.map(([name, value]) => [ours.get(name) ?? name, value]))
}

function knownFields(type: GraphQLInputObjectType, value: Values, path: string[]): Values {
  const known: Values = {}
  for (const [name, field] of Object.entries(type.getFields())) {
    if (field.extensions.isGraphqlOnly || !Object.hasOwn(value, name)) continue
    known[name] = within(field.type, value[name], [...path, name])
  }
  return known
}

function within(type: GraphQLInputType, value: unknown, path: string[]): unknown {
  if (value === null) return value
  const bare = isNonNullType(type) ? type.ofType : type
  if (isListType(bare)) {
    // GraphQL would accept a single value as a list of one.
    if (!Array.isArray(value)) throw invalidValue(path, 'must be a list', value)
    return value.map((entry, index) => within(bare.ofType, entry, [...path, String(index)]))
  }
  if (isEnumType(bare)) return fromWord(bare, value, path)
  // GraphQL would accept a number as an id.
  if (isScalarType(bare) && bare.name === 'ID' && typeof value !== 'string') throw invalidValue(path, 'must be a string', value)
  if (isInputObjectType(bare) && typeof value === 'object' && !Array.isArray(value)) return knownFields(bare, value as Values, path)
  return value
}

/** Returns the name of an enum value from its word, in any case. */
function fromWord(type: GraphQLEnumType, value: unknown, path: string[]): string {
  const words = type.getValues().map(({ name }) => name.toLowerCase())
  if (typeof value === 'string' && words.includes(value.toLowerCase())) return value.toUpperCase()
  throw invalidValue(path, `must be one of ${words.join(', ')}`, value)
}

/** Converts a query parameter. An input type declares how it is made from a text as `extensions: { fromText }`. */
function fromText(name: string, type: GraphQLInputType, value: unknown): unknown {
  if (Array.isArray(value)) throw invalidInput(`${name}: must be given only once.`, name)
  const named = getNamedType(type)
  const { fromText: parse } = named.extensions as { fromText?: (text: string) => unknown }
  if (parse && typeof value === 'string') return parse(value)
  const kind = String(named)
  if (kind === 'Int' && typeof value === 'string') {
    if (/^-?\d{1,9}$/.test(value)) return Number(value)
    throw invalidValue([name], 'must be a whole number', value)
  }
  if (isEnumType(named) && typeof value === 'string') return within(named, value, [name])
  if (kind === 'Boolean') {
    if (value === 'true' || value === 'false') return value === 'true'
    throw invalidValue([name], 'must be true or false', value)
  }
  return value
}
