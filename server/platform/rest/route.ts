import type { FastifyInstance, onSendAsyncHookHandler } from 'fastify'
import type { z } from 'zod'
import type { Method } from '../http/methods.ts'
import type { Context, IdentifyByKey } from '../access/context.ts'
import type { ApiError } from '../../errors.ts'
import type { Scope } from '../access/roles.ts'

/** Authorization rule of an endpoint. `open`: anyone; `browse`: anyone if public packages are enabled. */
export type CallerRule = 'open' | 'browse' | 'identity' | 'signedIn' | 'session' | 'ownAccount' | 'owner' | Scope

/** Error statuses described in the API reference (see documented-errors.ts). */
export type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 409 | 413 | 415 | 416 | 429 | 500 | 503

export type Data = Record<string, unknown>

/** How the response is built from the data of an operation. Enum values are always lower case. */
export type Answer =
  /** The value at this dotted path. */
  | string
  /** `{"status": "ok"}`. */
  | typeof ok
  /** A page: the connection at this dotted path, as `{<of>, page, pageSize, totalCount, totalPages}`. */
  | { page: string; of: string; each?: (node: Data, context: Context) => unknown; schema?: z.ZodType; next?: NextPage }
  /** A custom response with its schema. `statuses` describes further statuses that `from` may set. */
  | { from: (data: Data, context: Context) => unknown; schema: z.ZodType; statuses?: Record<number, string> }

/** Field with the URL of the next page. On the last page it is omitted, or null if it `isNullable`. */
export type NextPage = { field: string; isNullable?: boolean }

/** Conversion of a field's value for REST. `undefined` omits the field. */
export type FieldChange = { from: (value: unknown) => unknown; schema: z.ZodType }

export type RouteOptions = {
  summary?: string
  /** Status of a successful response; 200 by default. */
  status?: 200 | 201 | 202
  /** How the response is built; by default, it is the data itself. */
  answer?: Answer
  /** Path parameters or body fields that contain a plain id, with the type for the global id that the operation expects. */
  ids?: Record<string, string>
  /** Body fields and path parameters that have another name in REST: REST name to name in the input type. */
  names?: Record<string, string>
  /** Other words for values of query parameters, which clients of pub.dev send: parameter, word, and the value that it stands for. */
  synonyms?: Record<string, Record<string, string>>
  /** Input fields with fixed values, which the body cannot override. */
  fixedInput?: Data
  /** Dotted path of a connection to return as a list of all nodes: the operation runs with `$after` until there is no next page. */
  allNodes?: string
  /** Dotted paths of data that must not be null, with the error to return if one is. Outer paths come first. */
  required?: Record<string, (context: Context) => ApiError>
  /** Dotted paths of fields that REST returns in another form than GraphQL. */
  changes?: Record<string, FieldChange>
  /** Further error statuses of the endpoint (see documented-errors.ts). */
  errorStatuses?: readonly ErrorStatus[]
  /** Authorization rule for the API reference, if it depends on fields below the root. */
  caller?: CallerRule
  /** Whether the endpoint is available before the first owner exists. */
  beforeSetup?: boolean
  /** Whether responses and errors use the media type of pub's protocol. */
  pub?: boolean
  /** For a GET that runs a mutation, as pub's protocol requires: the scope it needs. HEAD checks the scope without running the mutation. */
  changesWith?: Scope
  /** Accepts requests with invalid credentials. For public endpoints to which a probe, a proxy or an old client may send any credential. */
  anyCredential?: boolean
  /** Identifies callers without a token by a key in the URL. */
  identifyByKey?: IdentifyByKey
  /** Alternative representations by media type, chosen by the `Accept` header. */
  alternatives?: Alternative[]
}

/** The handler authorizes the caller itself, gets the variables of the operation from `variables`, and responds through `context.reply`. */
export type Alternative = { type: string; handler: (context: Context, variables: () => Data) => Promise<unknown> }

/** An endpoint that executes a GraphQL operation on the shared schema. */
export type Route = RouteOptions & { kind: 'operation'; method: Method; path: string; operation: string }

/** An endpoint that GraphQL cannot express: bytes, redirects, and the most frequent reads. Its handler calls the same services and policies. */
export type BinaryRoute = {
  kind: 'binary'
  method: Method
  path: string
  summary: string
  /** Who may call the endpoint. `browse`: callers who may read packages; the handler then checks `audienceOf`. */
  access: 'open' | 'browse' | 'ownAccount' | Scope
  /** Counts the request toward a rate limit before its body is read. Throws an ApiError to reject the request. */
  admit?: (context: Context) => Promise<unknown>
  /** Operation that makes a response which is not cached. The handler receives a function that runs it. */
  operation?: Route
  /** Handles a request whose caller satisfies `access`. Responds through `context.reply` and returns that reply. */
  handler: (context: Context, run: () => Promise<Data>) => Promise<unknown>
  beforeSetup?: boolean
  /** Whether errors use the media type of pub's protocol, as the handler's responses do. */
  pub?: boolean
  /** Whether package clients download an archive from the endpoint. */
  isArchive?: boolean
  /** Whether errors include the XML that the package client reads at the upload URL, in the member `xml` next to `error`. */
  xmlErrors?: boolean
  /** Accepts requests with credentials other than access tokens. */
  anyCredential?: boolean
  /** Identifies callers without a token by a key in the URL. */
  identifyByKey?: IdentifyByKey
  /** Also accepts an access token as the password of HTTP Basic authentication, for clients that support nothing else. */
  basic?: boolean
  /** Sends an HTML error page to clients that prefer HTML to JSON. */
  failurePage?: (context: Context, failure: ApiError) => unknown
  onSend?: onSendAsyncHookHandler
  /** Accepted media types of the body, other than JSON. The handler reads `request.raw` or `request.body` itself. */
  consumes?: string[]
  /** Configures the body parsers of the Fastify scope for these routes. By default, multipart forms and plain bytes are accepted as streams. */
  accept?: (scope: FastifyInstance) => Promise<void>
  /** Responses by status for the API reference: media types, and schemas of JSON. */
  produces?: Record<number, Produced>
  /** Further error statuses of the endpoint (see documented-errors.ts). */
  errorStatuses?: readonly ErrorStatus[]
  /** Schema of errors, if it differs from the common one. */
  errorSchema?: z.ZodType
  /** Query parameters and their descriptions, for the API reference. */
  query?: Record<string, string>
}

/** A response of a binary route, in one of the media types. `schema` is a zod schema, or a selection of fields of a GraphQL type. */
export type Produced = {
  description: string
  type?: string | readonly string[]
  schema?: z.ZodType | { graphqlType: string; fields: string }
}

/** Responds with `{"status": "ok"}`. */
export const ok = Symbol('ok')

/** Defines a route: `route('GET /api/things/:id', 'query ($id: ID!) { thing(id: $id) { name } }', { answer: 'thing' })` */
export function route(endpoint: `${Method} /${string}`, operation: string, options: RouteOptions = {}): Route {
  return { kind: 'operation', ...split(endpoint), operation, ...options }
}

/** Defines a binary route: `binary('GET /api/things/:id/bytes', { summary: '…', handler })` */
export function binary(endpoint: `${Method} /${string}`, options: Omit<BinaryRoute, 'kind' | 'method' | 'path'>): BinaryRoute {
  return { kind: 'binary', ...split(endpoint), ...options }
}

const split = (endpoint: string) => {
  const [method, path] = endpoint.split(' ') as [Method, string]
  return { method, path }
}
