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
import { invalidInput, notFound } from '../errors.ts'
import { misfit } from '../graphql/operation-errors.ts'
import type { Route } from './route.ts'

type Values = Record<string, unknown>

/** The page size of every REST list. */
export const pageSize = 50

/**
 * Makes the function that fills an operation's variables from a request. `$input` takes the JSON body's fields and path parameters by name;
 * any other variable is a path parameter, else a query parameter, read as its type says; `$page` also gives `$offset`. Fields that
 * the schema does not know are ignored.
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
      // The cursor of a list that is given whole is the router's, not the client's.
      else if (name === 'after' && route.whole) continue
      else if (name === 'offset') values[name] = offsetOf(pageNumber(query.page))
      else if (path[name] !== undefined) values[name] = path[name]
      else if (query[name] !== undefined && query[name] !== '') values[name] = fromText(name, type, query[name])
    }
    return values
  }
}

/** The `page` of a list: 1 when absent; anything but a positive integer is refused. Numbers above what JSON can carry exactly are one page. */
export function pageNumber(value: unknown): number {
  if (value === undefined) return 1
  if (typeof value !== 'string' || !/^[1-9]\d*$/.test(value)) throw invalidInput('page: must be a positive whole number.', 'page')
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER)
}

/** Rows before a page; beyond what GraphQL counts, every page is as empty. */
const offsetOf = (page: number): number => Math.min((page - 1) * pageSize, 2 ** 31 - 1)

function withGlobalIds(path: Record<string, string>, ids: Route['ids']): Record<string, string> {
  if (!ids) return path
  return Object.fromEntries(Object.entries(path).map(([name, value]) => [name, ids[name] ? globalId(ids[name], value) : value]))
}

/** Nothing has an empty id, which GraphQL would refuse in words of its own. */
function globalId(typename: string, id: string): string {
  if (id === '') throw notFound('No object has this id.')
  return encodeGlobalID(typename, id)
}

function inputValue(type: GraphQLInputObjectType, body: unknown, path: Record<string, string>, route: Route): unknown {
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw invalidInput('The body must be a JSON object.')
  const inPath = renamed(path, route.names)
  const fields = { ...knownFields(type, renamed((body ?? {}) as Values, route.names), []), ...inPath, ...route.given }
  for (const [name, typename] of Object.entries(route.ids ?? {})) {
    if (!(name in inPath) && typeof fields[name] === 'string') fields[name] = globalId(typename, fields[name])
  }
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in type.getFields()))
}

/** With the type's names. Where REST has a name of its own, it does not know the type's. */
function renamed<Value>(values: Record<string, Value>, names: Route['names'] = {}): Record<string, Value> {
  const ours = new Map(Object.entries(names))
  const hidden = new Set(ours.values())
  const known = Object.entries(values).filter(([name]) => ours.has(name) || !hidden.has(name))
  return Object.fromEntries(known.map(([name, value]) => [ours.get(name) ?? name, value]))
}

function knownFields(type: GraphQLInputObjectType, value: Values, path: string[]): Values {
  const known: Values = {}
  for (const [name, field] of Object.entries(type.getFields())) {
    if (!Object.hasOwn(value, name)) continue
    known[name] = within(field.type, value[name], [...path, name])
  }
  return known
}

function within(type: GraphQLInputType, value: unknown, path: string[]): unknown {
  if (value === null) return value
  const bare = isNonNullType(type) ? type.ofType : type
  if (isListType(bare)) {
    // GraphQL would take a single value for a list of one.
    if (!Array.isArray(value)) throw misfit(path, 'must be a list', value)
    return value.map((entry, index) => within(bare.ofType, entry, [...path, String(index)]))
  }
  if (isEnumType(bare)) return fromWord(bare, value, path)
  // GraphQL would take a number for an id.
  if (isScalarType(bare) && bare.name === 'ID' && typeof value !== 'string') throw misfit(path, 'must be a string', value)
  if (isInputObjectType(bare) && typeof value === 'object' && !Array.isArray(value)) return knownFields(bare, value as Values, path)
  return value
}

/** REST writes the words of an enum in lower case. */
function fromWord(type: GraphQLEnumType, value: unknown, path: string[]): string {
  const words = type.getValues().map(({ name }) => name.toLowerCase())
  if (typeof value === 'string' && words.includes(value)) return value.toUpperCase()
  throw misfit(path, `must be one of ${words.join(', ')}`, value)
}

function fromText(name: string, type: GraphQLInputType, value: unknown): unknown {
  if (Array.isArray(value)) throw invalidInput(`${name}: give it once.`, name)
  const kind = String(getNamedType(type))
  if (kind === 'Int' && typeof value === 'string') {
    if (/^-?\d{1,9}$/.test(value)) return Number(value)
    throw misfit([name], 'must be a whole number', value)
  }
  if (isEnumType(getNamedType(type)) && typeof value === 'string') return within(getNamedType(type), value, [name])
  if (kind === 'Boolean') {
    if (value === 'true' || value === 'false') return value === 'true'
    throw misfit([name], 'must be true or false', value)
  }
  return value
}
