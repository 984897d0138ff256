import type { FastifyRequest } from 'fastify'
import type { Context } from '../access/context.ts'
import { bodyTooLarge, invalidInput, notAcceptable } from '../errors.ts'
import { readJsonBody, refuseLargeJson } from '../http/bodies/json-body.ts'
import { prefers } from '../http/caching/conditional.ts'
import type { GraphQLParams } from 'graphql-yoga'

/** How a subscription's events are sent: as server-sent events. */
export const eventStream = 'text/event-stream'

/** The largest body of a caller without a credential: the longest query, written as JSON, and its variables. */
const anonymousBytes = 128 * 1024

const json = ['application/graphql-response+json', 'application/json']

/**
 * The request as the fetch standard has it, without its body (`parametersOf`).
 * @throws ApiError InvalidInput when JSON in its address is too deep or none, or when it wants another answer than JSON or the explorer's page.
 */
export function toFetch(request: FastifyRequest): RequestInit {
  const { method, headers, query } = request
  const type = headers['content-type']
  const accept = acceptable(headers.accept, method)
  const parameters = query as Record<string, string | string[]>
  for (const text of Object.values(parameters).flat()) if (typeof text === 'string') refuseLargeJson(text)
  if (method !== 'POST') refuseBadJson(parameters)
  return {
    method: method === 'HEAD' ? 'GET' : method, // the server leaves the body out
    headers: { ...(accept && { accept }), ...(type && { 'content-type': type }) },
  }
}

/**
 * What a request sends in its body: query, variables and so on; undefined for one that has them in its address.
 * @throws ApiError InvalidInput when it is too large, no UTF-8, no JSON, or no object.
 */
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

/**
 * Refuses what beside the query does not fit.
 * @throws ApiError InvalidInput that names it.
 */
export function refuseMisfits({ variables, extensions, operationName }: { [Name in keyof GraphQLParams]?: unknown }): void {
  for (const [name, value] of Object.entries({ variables, extensions }))
    if (value != null && (typeof value !== 'object' || Array.isArray(value))) throw invalidInput(`${name}: must be an object.`, name)
  if (operationName != null && typeof operationName !== 'string') throw invalidInput('operationName: must be a string.', 'operationName')
}

/** An address carries these as JSON; what is empty counts as left out. */
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

/** Whether the client takes server-sent events, as it must for a subscription. */
export const takesEvents = ({ headers }: FastifyRequest): boolean =>
  (headers.accept ?? '').split(',').some((type) => typeOf(type) === eventStream)

/** Whether a person opens the address in a browser, without a query. */
export const wantsExplorer = (request: FastifyRequest): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  !['query', 'extensions'].some((name) => name in (request.query as object)) &&
  prefers(request, 'text/html')

/** What of the wanted media types can be had here. Answers come whole, never in parts; those of a subscription as a stream of events. */
function acceptable(accept: string | undefined, method: string): string | undefined {
  if (accept === undefined) return accept
  const offered = ['*/*', 'application/*', ...json, eventStream, ...(method === 'POST' ? [] : ['text/*', 'text/html'])]
  const wanted = accept.split(',').filter((type) => offered.includes(typeOf(type)))
  if (wanted.length === 0) throw notAcceptable(json.join(' or '))
  return wanted.join(',')
}

const typeOf = (accepted: string) => (accepted.split(';', 1)[0] ?? '').trim().toLowerCase()
