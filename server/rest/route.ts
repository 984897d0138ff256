import type { FastifyInstance, onSendAsyncHookHandler } from 'fastify'
import type { z } from 'zod'
import type { Method } from '../http/methods.ts'
import type { Context, IdentifyByKey } from '../access/context.ts'
import type { ApiError } from '../errors.ts'
import type { Scope } from '../roles/roles.ts'

/** Who may call an endpoint: anyone, anyone while the server has public packages, a known caller, a session, or a credential of some kind. */
export type CallerRule = 'open' | 'browse' | 'identity' | 'signedIn' | 'session' | 'ownAccount' | 'owner' | Scope

/** The statuses of refused requests that the reference knows (see documented-errors.ts). */
export type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 409 | 413 | 415 | 416 | 429 | 500 | 503

/** The data of an executed operation, by the names it selects. */
export type Data = Record<string, unknown>

/** What turns an operation's data into the answer. Enum values are lower-case words in all of them. */
export type Answer =
  /** The value at this dotted path of the data. */
  | string
  /** `{"status": "ok"}`. */
  | typeof ok
  /** A page: the connection at this dotted path, as `{<of>, page, pageSize, totalCount, totalPages}`. */
  | { page: string; of: string; each?: (node: Data) => unknown; schema?: z.ZodType }
  /** Anything else, with the schema of the answer, and further statuses that `from` may set for it, with what they mean. */
  | { from: (data: Data, context: Context) => unknown; schema: z.ZodType; statuses?: Record<number, string> }

/** How REST shows the value of a field: `undefined` leaves it out. */
export type FieldChange = { from: (value: unknown) => unknown; schema: z.ZodType }

export type RouteOptions = {
  /** One line for the reference. */
  summary?: string
  /** 200 unless said otherwise. */
  status?: 200 | 201 | 202
  /** Without it, the data itself is the answer. */
  answer?: Answer
  /** Path parameters or body fields that hold a plain id, and the type whose global id the operation wants. */
  ids?: Record<string, string>
  /** Body fields and path parameters that REST calls otherwise than the input type does: REST's name, and the type's. */
  names?: Record<string, string>
  /** Input fields that the endpoint itself settles, whatever the body says. */
  given?: Data
  /** A connection (dotted path) that is answered as the list of all its nodes: the operation runs with `$after` until there is no next page. */
  whole?: string
  /** Parts of the data (dotted paths) without which there is no answer, with the error when one is null. Outer ones come first. */
  required?: Record<string, (context: Context) => ApiError>
  /** Selected fields (dotted paths) that REST shows in another way than GraphQL. */
  changes?: Record<string, FieldChange>
  /** Further statuses that it refuses requests with (see documented-errors.ts). */
  refuses?: readonly ErrorStatus[]
  /** What it asks of its caller, for the reference, where fields below the root decide it. */
  caller?: CallerRule
  /** Works before the first owner exists. */
  beforeSetup?: boolean
  /** Pub endpoints answer with pub's own media type, errors too. */
  pub?: boolean
  /** For a GET that changes something, as pub's protocol has them: the scope it needs. HEAD asks for that and does nothing. */
  changesWith?: Scope
  /** Answers whatever credential comes along: nobody signs in for it, and a probe, a proxy or an old token may send one all the same. */
  anyCredential?: boolean
  /** Identifies callers who send no token by a key in the address. */
  identifyByKey?: IdentifyByKey
  /** Other representations of the same, for whoever would rather have one of these media types. */
  alternatives?: Alternative[]
}

/** It checks the caller itself, asks for the variables that the operation would run with, and answers through `context.reply`. */
export type Alternative = { type: string; handler: (context: Context, variables: () => Data) => Promise<unknown> }

/** An endpoint without a body of its own: it names an operation, which runs on the same schema as every other. */
export type Route = RouteOptions & { kind: 'operation'; method: Method; path: string; operation: string }

/** An endpoint for what GraphQL cannot carry: bytes, redirects, and the hottest reads. It calls the same services and policies. */
export type BinaryRoute = {
  kind: 'binary'
  method: Method
  path: string
  summary: string
  /**
   * Who may call it: everybody, whoever holds this scope, or (`browse`) whoever may read packages, for whom the handler asks `audienceOf`.
   * The router checks it; finer rules are the handler's.
   */
  access: 'open' | 'browse' | 'ownAccount' | Scope
  /** Counts the request toward a limit before its body is read. Throws an ApiError to refuse it. */
  admit?: (context: Context) => Promise<unknown>
  /** Gets a context whose caller passed `access`. It answers through `context.reply` and returns that reply. */
  handler: (context: Context) => Promise<unknown>
  beforeSetup?: boolean
  /** Its errors are of pub's media type, as what its handler answers. */
  pub?: boolean
  /** Its errors carry the XML that the package client reads at the upload URL, in the member `xml` next to `error`. */
  xmlErrors?: boolean
  /** Answers whatever credential comes along: where another one than an access token may be sent. */
  anyCredential?: boolean
  /** Identifies callers who send no token by a key in the address. */
  identifyByKey?: IdentifyByKey
  /** Takes an access token also as the password of HTTP Basic: for clients that can send nothing else. */
  basic?: boolean
  /** Answers people who would rather read a page than JSON when they are refused. */
  failurePage?: (context: Context, failure: ApiError) => unknown
  /** Changes the answer before it goes out. */
  onSend?: onSendAsyncHookHandler
  /** What the body may be, when it is not JSON: the handler reads `request.raw` or `request.body` itself. */
  consumes?: string[]
  /** Readies the scope that such routes get to themselves; without it, they take forms with files and plain bytes, as streams. */
  accept?: (scope: FastifyInstance) => Promise<void>
  /** What it answers with, for the reference: media types by status, and schemas of JSON. */
  produces?: Record<number, Produced>
  /** Further statuses that it refuses requests with (see documented-errors.ts). */
  refuses?: readonly ErrorStatus[]
  /** The schema of its errors, where it is not the usual one. */
  errorSchema?: z.ZodType
  /** Query parameters by name, for the reference. */
  query?: Record<string, string>
}

/** An answer of a route for bytes. The schema is a zod schema, or the selection of a GraphQL type that has the same fields. */
export type Produced = { description: string; type?: string; schema?: z.ZodType | { graphqlType: string; fields: string } }

/** Answers with `{"status": "ok"}`. */
export const ok = Symbol('ok')

/** `route('GET /api/things/:id', 'query ($id: ID!) { thing(id: $id) { name } }', { answer: 'thing' })` */
export function route(endpoint: `${Method} /${string}`, operation: string, options: RouteOptions = {}): Route {
  return { kind: 'operation', ...split(endpoint), operation, ...options }
}

/** `binary('GET /api/things/:id/bytes', { summary: '…', handler })` */
export function binary(endpoint: `${Method} /${string}`, options: Omit<BinaryRoute, 'kind' | 'method' | 'path'>): BinaryRoute {
  return { kind: 'binary', ...split(endpoint), ...options }
}

const split = (endpoint: string) => {
  const [method, path] = endpoint.split(' ') as [Method, string]
  return { method, path }
}
