import type { FastifyRequest } from 'fastify'
import type { Context } from '../access/context.ts'
import { bodyTooLarge, invalidInput, notAcceptable } from '../../errors.ts'
import { readJsonBody, refuseLargeJson } from '../http/bodies.ts'
import { prefers } from '../http/caching/conditional.ts'
import type { GraphQLParams } from 'graphql-yoga'

export const eventStream = 'text/event-stream'

/** Maximum body size of an unauthenticated request: the longest query encoded as JSON, plus its variables. */
const anonymousBytes = 128 * 1024

const json = ['application/graphql-response+json', 'application/json']

/** Converts a request to a fetch `RequestInit` without its body. Throws InvalidInput for bad JSON in the URL, and NotAcceptable. */
export function toFetch(request: FastifyRequest): RequestInit {
  const { method, headers, query } = request
  const type = headers['content-type']
  const accept = acceptable(headers.accept, method)
  const parameters = query as Record<string, string | string[]>
  for (const text of Object.values(parameters).flat()) if (typeof text === 'string') refuseLargeJson(text)
  if (method !== 'POST') refuseBadJson(parameters)
  return {
    method: method === 'HEAD' ? 'GET' : method, // Fastify omits the body of HEAD responses
    headers: { ...(accept && { accept }), ...(type && { 'content-type': type }) },
  }
}

/** Returns the GraphQL parameters in the body; undefined for GET. Throws InvalidInput unless the body is a JSON object of allowed size. */
export async function parametersOf(
  { method, body }: FastifyRequest,
  { viewer }: Pick<Context, 'viewer'>,
): Promise<GraphQLParams | undefined> {
  if (method !== 'POST') return undefined
  if (!viewer && body !== undefined && (body as Buffer).length > anonymousBytes) throw bodyTooLarge(anonymousBytes)
  const value = body === undefined ? undefined : await readJsonBody(body as Buffer)
  if (value === undefined) throw invalidInput('The body is empty; send a JSON object with `query`.')
  if (Array.isArray(value)) throw invalidInput('Send one query at a time: batches are not supported.')
  if (typeof value !== 'object' || value === null) throw invalidInput('The body must be a JSON object with `query`.')
  return value
}

/** Throws InvalidInput if a parameter other than the query has the wrong type. */
export function validateParameters({ variables, extensions, operationName }: { [Name in keyof GraphQLParams]?: unknown }): void {
  for (const [name, value] of Object.entries({ variables, extensions }))
    if (value != null && (typeof value !== 'object' || Array.isArray(value))) throw invalidInput(`${name}: must be an object.`, name)
  if (operationName != null && typeof operationName !== 'string') throw invalidInput('operationName: must be a string.', 'operationName')
}

/** Throws if a JSON parameter in the query string is invalid. An empty one counts as absent. */
function refuseBadJson(parameters: Record<string, string | string[]>): void {
  for (const name of ['variables', 'extensions'])
    for (const text of [parameters[name] ?? ''].flat()) if (text !== '' && !isJson(text)) throw invalidInput(`${name}: is not valid JSON.`)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether the client accepts server-sent events, as required for subscriptions. */
export const acceptsEvents = ({ headers }: FastifyRequest): boolean =>
  (headers.accept ?? '').split(',').some((type) => typeOf(type) === eventStream)

/** Whether the request comes from a browser that opened the URL without a query. */
export const wantsExplorer = (request: FastifyRequest): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  !['query', 'extensions'].some((name) => name in (request.query as object)) &&
  prefers(request, 'text/html')

/** Returns the supported subset of the `Accept` header. Responses are never sent incrementally, except for events of subscriptions. */
function acceptable(accept: string | undefined, method: string): string | undefined {
  if (accept === undefined) return accept
  const offered = ['*/*', 'application/*', ...json, eventStream, ...(method === 'POST' ? [] : ['text/*', 'text/html'])]
  const wanted = accept.split(',').filter((type) => offered.includes(typeOf(type)))
  if (wanted.length === 0) throw notAcceptable(json.join(' or '))
  return wanted.join(',')
}

const typeOf = (accepted: string) => (accepted.split(';', 1)[0] ?? '').trim().toLowerCase()
