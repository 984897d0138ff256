import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLSchema,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { statusOf } from '../../errors.ts'
import { rootFields } from '../graphql/caller-check.ts'
import { version } from '../config/version.ts'
import { pubJson } from '../pub/listing.ts'
import { cookieName } from '../http/cookies.ts'
import { callerRule, errorCodesOf, rejections, rejectionsOf, securityRequirements } from './documented-errors.ts'
import { responseSchema, described, inputSchema, type Json, producedSchema, zodSchema } from './json-schema.ts'
import { compileOperation } from './operation.ts'
import type { BinaryRoute, ErrorStatus, Route } from './route.ts'

export type RouteGroup = { tag: string; description: string; routes: readonly (Route | BinaryRoute)[] }

const json = 'application/json'

export const openApiPath = ({ path }: { path: string }): string => path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}')

/** Returns the OpenAPI 3.1 document of the routes. Requests and responses are derived from the operations. */
export function describeRoutes(schema: GraphQLSchema, groups: readonly RouteGroup[], serverUrl: string): Json {
  const paths: Record<string, Json> = {}
  const used = new Map<string, Json>()
  for (const { tag, routes } of groups) {
    for (const route of routes) {
      const path = openApiPath(route)
      const described = route.kind === 'binary' ? describeBinary(schema, route, used) : describeOperation(schema, route, used)
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: { tags: [tag], ...described } }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Snug',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'A self-hosted package registry for Dart and Flutter teams. All of this is also available in GraphQL, at /graphql.',
    },
    servers: [{ url: serverUrl }],
    tags: groups.map(({ tag, description }) => ({ name: tag, description })),
    paths,
    components: {
      securitySchemes: securitySchemes(serverUrl),
      schemas: { Error: errorSchema },
      responses: Object.fromEntries([...used].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}

const securitySchemes = (serverUrl: string): Json => ({
  token: { type: 'http', scheme: 'bearer', description: 'A personal access token (svc_pat_…).' },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'A personal access token as the password, for clients that only support Basic authentication.',
  },
  uploadKey: { type: 'apiKey', in: 'query', name: 'upload_key', description: 'The key in the URL of an upload, instead of a token.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: cookieName('session', serverUrl),
    description: 'The session cookie; changes also need the X-CSRF-Token header.',
  },
})

const errorSchema = {
  type: 'object',
  description: 'A stable error code, and a human-readable message that may change.',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: Object.keys(statusOf) },
        message: { type: 'string' },
        secondFactor: {
          type: 'array',
          description: 'At the sign-in only: the password was right, and these are the ways to prove the second factor.',
          items: { type: 'string', enum: ['otp', 'recoveryCode', 'passkey'] },
        },
      },
    },
    xml: { type: 'string', description: 'At the upload endpoint only: the error as one line of XML, which `dart pub` shows.' },
  },
}

const retryAfter = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } }

/** Returns references to the shared error responses, and adds these responses to `used`. */
function rejectionResponses(route: Route | BinaryRoute, statuses: readonly ErrorStatus[], used: Map<string, Json>): Json {
  const own = route.kind === 'binary' && route.errorSchema ? zodSchema(route.errorSchema) : null
  const reference = { $ref: '#/components/schemas/Error' }
  const schema = own ? { anyOf: [own, reference] } : reference
  const content = { [route.pub ? pubJson : json]: { schema }, ...(route.kind === 'binary' && route.failurePage && { 'text/html': {} }) }
  const suffix = route.pub ? 'OfPub' : route.kind === 'binary' && route.failurePage ? 'OrPage' : ''
  const entries = ([...statuses, 'default'] as const).map((status) => {
    const [name, description] = rejections[status]
    const response = { description, ...((status === 429 || status === 503) && { headers: retryAfter }), content }
    if (own) return [status, response]
    used.set(name + suffix, status === 'default' ? response : { ...response, 'x-error-codes': errorCodesOf(status, route) })
    return [status, { $ref: `#/components/responses/${name}${suffix}` }]
  })
  return Object.fromEntries(entries) as Json
}

function describeOperation(schema: GraphQLSchema, route: Route, used: Map<string, Json>): Json {
  const { definition, fields } = compileOperation(schema, route)
  const rule = route.caller ?? callerRule(schema, definition)
  const extensions = rootFields(schema, definition).map((field) => field.extensions)
  const { parameters, requestBody } = requestOf(schema, route, definition)
  const content = {
    [route.pub ? pubJson : json]: { schema: responseSchema(fields, route) },
    ...Object.fromEntries((route.alternatives ?? []).map(({ type }) => [type, { schema: { type: 'string' } }])),
  }
  const further = typeof route.answer === 'object' && 'from' in route.answer ? (route.answer.statuses ?? {}) : {}
  return {
    summary: route.summary ?? '',
    operationId: operationId(route),
    security: securityRequirements(rule, { uploadKey: route.identifyByKey !== undefined }),
    ...(parameters.length && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      ...rejectionResponses(route, rejectionsOf(route, rule, extensions), used),
      [route.status ?? 200]: { description: 'Done.', content },
      ...Object.fromEntries(Object.entries(further).map(([status, description]) => [status, { description, content }])),
    },
  }
}

function requestOf(schema: GraphQLSchema, route: Route, definition: OperationDefinitionNode) {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  const uses = variableUses(schema, definition)
  const query: Json[] = []
  let body: GraphQLInputObjectType | undefined
  for (const node of definition.variableDefinitions ?? []) {
    const name = node.variable.name.value
    const type = typeFromAST(schema, node.type as never)
    const named = type && getNamedType(type)
    if (name === 'input' && isInputObjectType(named)) body = named
    else if (name === 'offset')
      query.push({ name: 'page', in: 'query', required: false, description: 'Page, from 1.', schema: { type: 'integer', minimum: 1 } })
    else if (!inPath.includes(name) && named && !(name === 'after' && route.allNodes))
      query.push({
        name,
        in: 'query',
        required: node.type.kind === Kind.NON_NULL_TYPE,
        ...described(uses.get(name)),
        schema: isInputObjectType(named) ? { type: 'string' } : inputSchema(named as never),
      })
  }
  const inBody = (name: string) => body?.getFields()[route.names?.[name] ?? name]
  const excluded = [...inPath.map((name) => route.names?.[name] ?? name), ...Object.keys(route.fixedInput ?? {})]
  return {
    parameters: [...inPath.map((name) => pathParameter(name, uses.get(name) ?? inBody(name))), ...query],
    requestBody: body && bodyOf(body, excluded, route.names),
  }
}

type Use = GraphQLArgument | GraphQLInputField

/** Returns the argument or input field that each variable is used in, for its description. */
function variableUses(schema: GraphQLSchema, definition: OperationDefinitionNode): Map<string, Use> {
  const types = new TypeInfo(schema)
  const uses = new Map<string, Use>()
  const note = ({ value }: { value: { kind: string; name?: { value: string } } }, use: Use | null | undefined) => {
    if (value.kind === Kind.VARIABLE && value.name && use) uses.set(value.name.value, use)
  }
  const visitor = {
    Argument: (node: never) => note(node, types.getArgument()),
    ObjectField: (node: { name: { value: string } }) => {
      const parent = getNamedType(types.getParentInputType())
      if (isInputObjectType(parent)) note(node as never, parent.getFields()[node.name.value])
    },
  }
  visit(definition, visitWithTypeInfo(types, visitor as never))
  return uses
}

const pathParameter = (name: string, use?: Use): Json => ({
  name,
  in: 'path',
  required: true,
  ...described(use),
  schema: { type: 'string' },
})

function describeBinary(schema: GraphQLSchema, route: BinaryRoute, used: Map<string, Json>): Json {
  const inPath = [...route.path.matchAll(/:(\w+)|\*/g)].map((match) => pathParameter(match[1] ?? 'path'))
  const inQuery = Object.entries(route.query ?? {}).map(([name, description]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema: { type: 'string' },
  }))
  const produces = Object.entries(route.produces ?? { 200: { description: 'Done.' } })
  return {
    summary: route.summary,
    operationId: operationId(route),
    security: securityRequirements(route.access, { basic: route.basic, uploadKey: route.identifyByKey !== undefined }),
    ...(inPath.length + inQuery.length && { parameters: [...inPath, ...inQuery] }),
    ...(route.consumes && { requestBody: { required: true, content: Object.fromEntries(route.consumes.map((type) => [type, {}])) } }),
    responses: {
      ...rejectionResponses(route, rejectionsOf(route, route.access), used),
      ...Object.fromEntries(
        produces.map(([status, { description, type, schema: produced }]) => [
          status,
          { description, ...(type && { content: contentOf([type].flat(), produced ? { schema: producedSchema(schema, produced) } : {}) }) },
        ]),
      ),
    },
  }
}

const contentOf = (types: string[], content: Json): Json => Object.fromEntries(types.map((type) => [type, content]))

function bodyOf(type: GraphQLInputObjectType, excluded: string[], renamed: Route['names'] = {}): Json | undefined {
  const schema = inputSchema(type) as { properties: Json; required?: string[] }
  const onRest = (name: string) => Object.keys(renamed).find((theirs) => renamed[theirs] === name) ?? name
  const names = Object.keys(schema.properties).filter((name) => !excluded.includes(name))
  if (names.length === 0) return undefined
  const required = schema.required?.filter((name) => names.includes(name)).map(onRest) ?? []
  const properties = Object.fromEntries(names.map((name) => [onRest(name), schema.properties[name]]))
  return {
    required: required.length > 0,
    content: { [json]: { schema: { type: 'object', properties, ...(required.length && { required }) } } },
  }
}

const operationId = (route: { method: string; path: string }) =>
  `${route.method.toLowerCase()}${openApiPath(route).replace(/[^A-Za-z0-9]+(\w?)/g, (_match, letter: string) => letter.toUpperCase())}`
