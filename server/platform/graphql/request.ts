import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { type Context, createContext, renewContext } from '../access/context.ts'
import { rejectUselessCredential } from '../access/guards.ts'
import { invalidInput, notAcceptable } from '../../errors.ts'
import { readBody, readJsonBody } from '../http/bodies.ts'
import { rejectLargeJson } from '../http/json-size.ts'
import { prefers } from '../http/caching/conditional.ts'
import { bodyLimit } from '../http/failures.ts'
import { addressKey } from '../http/limits.ts'
import type { Services } from '../../services.ts'
import type { GraphQLParams } from 'graphql-yoga'

export const eventStream = 'text/event-stream'

/** Maximum body size of an unauthenticated request: the longest query encoded as JSON, plus its variables. */
const anonymousBytes = 128 * 1024

const json = ['application/graphql-response+json', 'application/json']

/** A caller who was counted toward the rate limit, and the request without its body. */
type Admission = { caller: Context; init: RequestInit }

/** Returns functions that admit requests. Those with a body are admitted before it is read. */
export function admitRequests(services: Services) {
  const early = new WeakMap<FastifyRequest, Admission & { isBodyDue: boolean }>()
  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<Admission> {
    const caller = await createContext(services, request, reply)
    caller.query = { cost: 0, bucket: await services.limits.use('graphql', caller.viewer?.id ?? addressKey(caller.ip)) }
    rejectUselessCredential(caller)
    return { caller, init: toFetch(request) }
  }
  return {
    async preParsing(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      if (request.method !== 'POST') return
      const admission = await admit(request, reply)
      early.set(request, { ...admission, isBodyDue: isBodyDue(request.raw) })
    },
    readBody: (request: FastifyRequest, body: Readable): Promise<Buffer> =>
      readBody(request, body, early.get(request)?.caller.viewer ? bodyLimit : anonymousBytes),
    async admissionOf(request: FastifyRequest, reply: FastifyReply): Promise<Admission> {
      const admission = early.get(request)
      if (!admission?.isBodyDue) return admission ?? admit(request, reply)
      // The credential may have been revoked while a slow body arrived.
      const { query } = admission.caller
      const caller = Object.assign(await renewContext(services, admission.caller), query && { query })
      rejectUselessCredential(caller)
      return { caller, init: admission.init }
    },
  }
}

/** Whether the body has not arrived completely. Requests that did not come over a connection have it. */
const isBodyDue = ({ complete = true }: { complete?: boolean }): boolean => !complete

/** Converts a request to a fetch `RequestInit` without its body. Throws InvalidInput for bad JSON in the URL, and NotAcceptable. */
function toFetch(request: FastifyRequest): RequestInit {
  const { method, headers, query } = request
  const type = headers['content-type']
  const accept = acceptable(headers.accept, method)
  const parameters = query as Record<string, string | string[]>
  for (const text of Object.values(parameters).flat()) if (typeof text === 'string') rejectLargeJson(text)
  if (method !== 'POST') rejectBadJson(parameters)
  return {
    method: method === 'HEAD' ? 'GET' : method, // Fastify omits the body of HEAD responses
    headers: { ...(accept && { accept }), ...(type && { 'content-type': type }) },
  }
}

/** Returns the GraphQL parameters in the body; undefined for GET. Throws InvalidInput unless the body is a JSON object. */
export async function parametersOf({ method, body }: FastifyRequest): Promise<GraphQLParams | undefined> {
  if (method !== 'POST') return undefined
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
function rejectBadJson(parameters: Record<string, string | string[]>): void {
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
