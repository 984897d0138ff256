import type { GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { type ErrorCode, statusOf } from '../../errors.ts'
import { rootFields } from '../graphql/caller-check.ts'
import type { BinaryRoute, CallerRule, ErrorStatus, Route } from './route.ts'

/** Name and description of each error status, for the API reference. */
export const rejections = {
  400: ['BadRequest', 'The request is malformed, or a value in it is not accepted. The message names it.'],
  401: ['Unauthorized', 'The credential is missing, invalid, expired or revoked.'],
  403: [
    'Forbidden',
    'The credential does not allow this: its scope or limits, the role of its owner, or a missing CSRF token. Or the setup is not finished.',
  ],
  404: ['NotFound', 'The resource does not exist, or the caller may not see it.'],
  408: ['RequestTimeout', 'The body arrived too slowly.'],
  409: ['Conflict', 'The request conflicts with the current state.'],
  413: ['ContentTooLarge', 'The body is larger than this endpoint accepts.'],
  415: ['UnsupportedMediaType', 'The body is not of a media type that this endpoint reads.'],
  416: ['RangeNotSatisfiable', 'The requested range does not exist.'],
  429: ['TooManyRequests', 'Too many requests. Try again after the seconds in `Retry-After`.'],
  500: ['InternalError', 'Something went wrong on the server. The message contains the id of the log entry.'],
  503: [
    'ServiceUnavailable',
    'The database or the storage is unavailable or full, or the server is stopping. Try again after the seconds in `Retry-After`.',
  ],
  default: ['Error', 'Any other failure.'],
} as const satisfies Record<ErrorStatus | 'default', [name: string, description: string]>

/** Returns the codes of errors with a status, for the API reference. Only package clients upload packages. */
export function errorCodesOf(status: ErrorStatus, { pub }: { pub?: boolean }): ErrorCode[] {
  const codes = (Object.keys(statusOf) as ErrorCode[]).filter((code) => statusOf[code] === status)
  const known: ErrorCode[] = codes.length > 0 ? codes : ['InvalidInput']
  return known.filter((code) => pub || code !== 'PackageRejected')
}

const strictestFirst = ['owner', 'admin', 'session', 'write', 'ownAccount', 'read', 'browse', 'signedIn', 'identity'] as const

/** Returns the strictest authorization rule that the root fields of an operation declare. */
export function callerRule(schema: GraphQLSchema, definition: OperationDefinitionNode): CallerRule {
  const rules = rootFields(schema, definition).flatMap(({ extensions }) => {
    const { authScopes = {}, skipTypeScopes } = (extensions.pothosOptions ?? {}) as { authScopes?: Scopes; skipTypeScopes?: boolean }
    const named = authScopes.$all ? rulesOf(authScopes.$all) : loosestOf(rulesOf(authScopes))
    return skipTypeScopes ? named : [...named, 'signedIn' as const]
  })
  return strictestFirst.find((rule) => rules.includes(rule)) ?? 'open'
}

type Scopes = { $all?: object }

const rulesOf = (scopes: object) => Object.entries(scopes).map(([name, value]) => (name === 'scope' ? value : name) as CallerRule)

const loosestOf = (rules: CallerRule[]) => strictestFirst.filter((rule) => rules.includes(rule)).slice(-1)

/** Returns OpenAPI's security requirements of an endpoint. `token` lists the required scope; `further` names additional schemes. */
export function securityRequirements(rule: CallerRule, further: Record<string, boolean | undefined> = {}): object[] {
  if (rule === 'open') return []
  if (rule === 'session') return [{ session: [] }]
  const scope = {
    browse: 'read',
    ownAccount: 'write',
    owner: 'admin',
    identity: null,
    signedIn: null,
    read: 'read',
    write: 'write',
    admin: 'admin',
  }[rule]
  const accepted = Object.keys(further).filter((name) => further[name])
  const known = [{ token: scope ? [scope] : [] }, { session: [] }, ...accepted.map((name) => ({ [name]: [] }))]
  return rule === 'browse' ? [...known, {}] : known
}

/** Returns the error statuses of an endpoint: statuses implied by its properties, and statuses that it declares. */
export function rejectionsOf(route: Route | BinaryRoute, rule: CallerRule, extensions: readonly object[] = []): ErrorStatus[] {
  const changes = route.method !== 'GET' || (route.kind === 'operation' && route.changesWith !== undefined)
  const has = (name: string) => extensions.some((one) => name in one)
  const readsCredential = !(rule === 'open' && route.anyCredential)
  // Failed verifications of tokens of jobs are limited on all endpoints.
  const isLimited = readsCredential || has('limit') || (route.kind === 'binary' && route.admit !== undefined)
  const statuses: (ErrorStatus | false)[] = [
    400,
    readsCredential && 401,
    403,
    /[:*]/.test(route.path) && 404,
    changes && 409,
    ...(route.method === 'GET' ? [] : ([408, 413, 415] as const)),
    isLimited && 429,
    500,
    503,
    ...(route.errorStatuses ?? []),
  ]
  return [...new Set(statuses.filter((status) => status !== false))].toSorted((a, b) => a - b)
}
