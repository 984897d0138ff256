import { getNamedType, type GraphQLInputObjectType, type GraphQLSchema, isInputObjectType, Kind, typeFromAST } from 'graphql'
import { version } from '../version.ts'
import { answerSchema, inputSchema, pathParameter } from './json-schema.ts'
import { compileOperation } from './operation.ts'
import { type BinaryRoute, ok, type Route } from './route.ts'

type Json = Record<string, unknown>

/**
 * The OpenAPI 3.1 document of the table: what an operation selects and takes says what an endpoint answers and reads,
 * so that the reference cannot drift from the code.
 */
export function describeRoutes(schema: GraphQLSchema, routes: readonly (Route | BinaryRoute)[], serverUrl: string): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}')
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: route.kind === 'binary' ? describeBinary(route) : describeOperation(schema, route),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Snug',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'A self-hosted package registry for Dart and Flutter teams. Everything here is also in GraphQL, at /graphql.',
    },
    servers: [{ url: serverUrl }],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A personal access token (svc_pat_…).' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: serverUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session',
          description: 'The session cookie; changes also need the X-CSRF-Token header.',
        },
      },
      schemas: { Error: errorSchema },
      responses: {
        Error: {
          description: 'A failure: a stable code and a message for people.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'object', required: ['code', 'message'], properties: { code: { type: 'string' }, message: { type: 'string' } } },
  },
}

function describeOperation(schema: GraphQLSchema, route: Route): Json {
  const { definition } = compileOperation(schema, route)
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  const parameters: Json[] = inPath.map(pathParameter)
  let requestBody: Json | undefined
  for (const node of definition.variableDefinitions ?? []) {
    const name = node.variable.name.value
    const type = typeFromAST(schema, node.type as never)
    const named = type && getNamedType(type)
    if (name === 'input' && isInputObjectType(named))
      requestBody = bodyOf(named, [...inPath.map((name) => route.names?.[name] ?? name), ...Object.keys(route.given ?? {})], route.names)
    else if (name === 'offset')
      parameters.push({ name: 'page', in: 'query', required: false, description: 'Page, from 1.', schema: { type: 'integer', minimum: 1 } })
    else if (!inPath.includes(name) && named && !(name === 'after' && route.whole))
      parameters.push({ name, in: 'query', required: node.type.kind === Kind.NON_NULL_TYPE, schema: inputSchema(named as never) })
  }
  const type = `application/${route.pub ? 'vnd.pub.v2+json' : 'json'}`
  const status = String(route.status ?? 200)
  return {
    summary: route.summary ?? '',
    operationId: operationId(route),
    ...(parameters.length && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      [status]: {
        description: 'Done.',
        content: {
          [type]: { schema: answerSchema(schema, definition, route.answer, ok) },
          ...Object.fromEntries((route.alternatives ?? []).map((alternative) => [alternative.type, {}])),
        },
      },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function describeBinary(route: BinaryRoute): Json {
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
    ...(inPath.length + inQuery.length && { parameters: [...inPath, ...inQuery] }),
    ...(route.consumes && { requestBody: { required: true, content: Object.fromEntries(route.consumes.map((type) => [type, {}])) } }),
    responses: {
      ...Object.fromEntries(
        produces.map(([status, { description, type }]) => [status, { description, ...(type && { content: { [type]: {} } }) }]),
      ),
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function bodyOf(type: GraphQLInputObjectType, settled: string[], renamed: Route['names'] = {}): Json | undefined {
  const schema = inputSchema(type) as { properties: Json; required?: string[] }
  const onRest = (name: string) => Object.keys(renamed).find((theirs) => renamed[theirs] === name) ?? name
  const names = Object.keys(schema.properties).filter((name) => !settled.includes(name))
  if (names.length === 0) return undefined
  const required = schema.required?.filter((name) => names.includes(name)).map(onRest) ?? []
  const properties = Object.fromEntries(names.map((name) => [onRest(name), schema.properties[name]]))
  return {
    required: required.length > 0,
    content: { 'application/json': { schema: { type: 'object', properties, ...(required.length && { required }) } } },
  }
}

const operationId = ({ method, path }: { method: string; path: string }) =>
  `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+(\w?)/g, (_match, letter: string) => letter.toUpperCase())}`
