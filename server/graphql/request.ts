import type { FastifyRequest } from 'fastify'
import { invalidInput, notAcceptable } from '../errors.ts'
import { refuseDeepJson } from '../http/bodies/json-body.ts'

/** How a subscription's events are sent: as server-sent events. */
export const eventStream = 'text/event-stream'

const json = ['application/graphql-response+json', 'application/json']

/**
 * The request as the fetch standard has it; a body was read already, as text.
 * @throws ApiError InvalidInput when its JSON is too deep or, in an address, none, or when it wants another answer than JSON or the explorer's page.
 */
export function toFetch(request: FastifyRequest): RequestInit {
  const { method, headers, body, query } = request
  const type = headers['content-type']
  const accept = acceptable(headers.accept, method)
  const parameters = query as Record<string, string | string[]>
  for (const text of [body, ...Object.values(parameters).flat()]) if (typeof text === 'string') refuseDeepJson(text)
  if (method !== 'POST') refuseBadJson(parameters)
  if (method === 'POST' && body === undefined) throw invalidInput('The body is empty; send a JSON object with `query`.')
  return {
    method: method === 'HEAD' ? 'GET' : method, // the server leaves the body out
    headers: { ...(accept && { accept }), ...(type && { 'content-type': type }) },
    ...(typeof body === 'string' && { body }),
  }
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

/** What of the wanted media types can be had here. Answers come whole, never in parts; those of a subscription as a stream of events. */
function acceptable(accept: string | undefined, method: string): string | undefined {
  if (accept === undefined) return accept
  const offered = ['*/*', 'application/*', ...json, eventStream, ...(method === 'POST' ? [] : ['text/*', 'text/html'])]
  const wanted = accept.split(',').filter((type) => offered.includes(typeOf(type)))
  if (wanted.length === 0) throw notAcceptable(json.join(' or '))
  return wanted.join(',')
}

const typeOf = (accepted: string) => (accepted.split(';', 1)[0] ?? '').trim().toLowerCase()
