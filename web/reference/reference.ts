import {
  exampleOf,
  exampleValues,
  type Field,
  fieldOf,
  fieldsOf,
  type OpenApi,
  type OpenApiOperation,
  type OpenApiResponse,
  typeText,
} from './openapi.ts'

/** An endpoint as the reference shows it. */
export interface Operation {
  id: string
  method: string
  path: string
  summary: string
  /** Who can call it, as a sentence. */
  access: string
  parameters: (Field & { place: string })[]
  body: Content | undefined
  responses: (Content & { status: string; description: string })[]
  errors: { status: string; codes: string[]; description: string }[]
  /** An example as a command. */
  curl: string
}

/** A request or response body: its media types and, for JSON, its type and properties. */
interface Content {
  types: string
  type: string
  fields: Field[]
}

interface Group {
  id: string
  tag: string
  description: string
  operations: Operation[]
}

/** Returns the groups of endpoints in an OpenAPI document. */
export function groupsOf(document: OpenApi): Group[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ tag: operation.tags[0], ...describe(document, path, method, operation) })),
  )
  return document.tags.map(({ name, description }) => ({
    id: name.toLowerCase().replaceAll(/\W+/g, '-'),
    tag: name,
    description,
    operations: operations.filter(({ tag }) => tag === name),
  }))
}

/** Returns the endpoints that contain all words in their path, texts, fields or errors, in their groups. */
export function filterGroups(groups: readonly Group[], query: string): Group[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return [...groups]
  return groups
    .map((group) => ({
      ...group,
      operations: group.operations.filter((operation) => {
        const text = `${group.tag} ${JSON.stringify(Object.values(operation))}`.toLowerCase()
        return words.every((word) => text.includes(word))
      }),
    }))
    .filter(({ operations }) => operations.length > 0)
}

function describe(document: OpenApi, path: string, method: string, operation: OpenApiOperation): Operation {
  const resolved = Object.entries(operation.responses).map(([status, response]) => ({ status, ...resolve(document, response) }))
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    summary: operation.summary,
    access: accessText(operation.security),
    parameters: (operation.parameters ?? []).map((one) => ({
      ...fieldOf(one.name, one.schema, one.required, one.description),
      place: one.in,
    })),
    body: operation.requestBody && contentOf(operation.requestBody),
    responses: resolved
      .filter(({ status }) => /^[23]/.test(status))
      .map((response) => ({ status: response.status, description: response.description ?? '', ...contentOf(response) })),
    errors: resolved
      .filter(({ status }) => /^[45]/.test(status))
      .map((response) => ({ status: response.status, codes: codesOf(response), description: response.description ?? '' })),
    curl: curlOf(document.servers[0]?.url ?? '', path, method.toUpperCase(), operation),
  }
}

const resolve = ({ components }: OpenApi, response: OpenApiResponse): OpenApiResponse =>
  response.$ref ? (components.responses[response.$ref.slice(response.$ref.lastIndexOf('/') + 1)] ?? response) : response

/** Returns the codes of an error response. Those of OAuth have codes of their own, in the schema. */
function codesOf(response: OpenApiResponse): string[] {
  const own = Object.values(response.content ?? {})[0]?.schema?.anyOf?.[0]?.properties?.error?.enum ?? []
  return response['x-error-codes'] ?? own.map(String)
}

function contentOf({ content = {} }: { content?: OpenApiResponse['content'] }): Content {
  const schema = Object.values(content).find((one) => one.schema)?.schema
  return { types: Object.keys(content).join(', '), type: schema ? typeText(schema) : '', fields: schema ? fieldsOf(schema) : [] }
}

function accessText(security: OpenApiOperation['security']): string {
  if (security.length === 0) return 'Works without authentication.'
  const { token, uploadKey, basic } = Object.assign({}, ...security) as Record<string, string[] | undefined>
  if (!token) return 'Needs a session of the console.'
  const scope = token[0] ? `a token with the scope ${token[0].toUpperCase()}` : 'a token'
  const further = [basic && 'Also accepts the token as the password of Basic authentication.', uploadKey && 'Also accepts an upload key.']
  const needs = security.some((one) => Object.keys(one).length === 0)
    ? `Needs ${scope}, or nothing for public packages.`
    : `Needs ${scope}.`
  return [needs, ...further].filter(Boolean).join(' ')
}

/** Returns an example of an endpoint as a command. The token is in the variable SNUG_TOKEN. */
function curlOf(server: string, path: string, method: string, { parameters = [], requestBody, security }: OpenApiOperation): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(pathValue(path, name)))
  const query = parameters.filter((one) => one.in === 'query' && one.required)
  const search = query.map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleOf(schema, name)))}`).join('&')
  const needsSession = security.length > 0 && !security.some((one) => 'token' in one)
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}"${server}${filled}${search && `?${search}`}"`,
    ...(security.some((one) => 'token' in one) ? ['-H "Authorization: Bearer $SNUG_TOKEN"'] : []),
    ...(needsSession ? ['-b "$SNUG_COOKIES"', ...(method === 'GET' ? [] : ['-H "X-CSRF-Token: $SNUG_CSRF_TOKEN"'])] : []),
    ...(type ? bodyArguments(type, content?.schema ? exampleOf(content.schema) : undefined) : []),
  ].join(' \\\n  ')
}

function bodyArguments(type: string, example: unknown): string[] {
  if (type === 'multipart/form-data') return ['-F "file=@file"']
  const header = `-H "Content-Type: ${type}"`
  return type === 'application/json' ? [header, `-d '${JSON.stringify(example)}'`] : [header, '--data-binary @file']
}

const someId = '0197c5d6-0f3a-7cc4-9d5e-3b1f6a2f8e10'

/** Returns an example of a path parameter. Publishers are identified by a name, most other objects by an id. */
function pathValue(path: string, name: string): string {
  if (name === 'id' && path.includes('/publishers/')) return 'example.com'
  if (name === 'name') return path.startsWith('/mirror') ? 'http' : 'company'
  return exampleValues[name] ?? someId
}
