import { GraphQLError } from 'graphql'

/** The stable error codes of the API and the HTTP status each answers with. */
export const statusOf = {
  MissingAuthentication: 401,
  InsufficientPermissions: 403,
  CsrfMismatch: 403,
  NotFound: 404,
  InvalidInput: 400,
  PackageRejected: 400,
  Conflict: 409,
  RateLimitExceeded: 429,
  VerificationTemporarilyUnavailable: 503,
  ServiceUnavailable: 503,
  InternalError: 500,
} as const

export type ErrorCode = keyof typeof statusOf

type Details = {
  /** HTTP status where it differs from the code's own: 405, 413 and 415 are told apart by status only. */
  status?: number
  /** The input field to blame, dotted. */
  field?: string
  /** Seconds until another try makes sense. */
  retryAfter?: number
  /** What the caller has to prove first. */
  proof?: 'password'
}

/** An error that its receiver may read: a stable code, a message that says what to do, an HTTP status. */
export class ApiError extends GraphQLError {
  readonly code: ErrorCode
  readonly status: number
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    const { status = statusOf[code], field, retryAfter, proof } = details
    // Yoga takes the status and headers of its answer from here.
    const http = { status, ...(retryAfter && { headers: { 'retry-after': String(retryAfter) } }) }
    super(message, { extensions: { code, ...(field && { field }), ...(retryAfter && { retryAfter }), ...(proof && { proof }), http } })
    this.name = 'ApiError'
    this.code = code
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** 401: the request comes without a valid credential. The message says where a token is created. */
export const missingAuthentication = (message = 'Sign in, or send a valid access token.') => new ApiError('MissingAuthentication', message)

/** 403: known, but not allowed. */
export const insufficientPermissions = (message: string) => new ApiError('InsufficientPermissions', message)

/** 403 with `extensions.proof`: the session must confirm its password first. */
export const passwordProofRequired = () =>
  new ApiError(
    'InsufficientPermissions',
    'Confirm your password first: send it as currentPassword to POST /api/auth/confirm-password, then try again within 10 minutes.',
    { proof: 'password' },
  )

/** 403: a state-changing request rides on a cookie without proof that our own page sent it. */
export const csrfMismatch = (
  message = 'The X-CSRF-Token header is missing or does not belong to this session. Reload the page and try again.',
) => new ApiError('CsrfMismatch', message)

/** 404. */
export const notFound = (message: string) => new ApiError('NotFound', message)

/** 404 for a path that no route serves, often a wrong base URL: the message names the right one. */
export const unknownAddress = (serverUrl: string) => notFound(`Not found. This registry is at ${serverUrl}.`)

/** 400: the input is wrong; `field` names the culprit. */
export const invalidInput = (message: string, field?: string) => new ApiError('InvalidInput', message, field ? { field } : {})

/** 405: the path exists, the method does not. */
export const methodNotAllowed = (allowed: string) => new ApiError('InvalidInput', `This path answers ${allowed} only.`, { status: 405 })

/** 406: the answer cannot be had in any of the forms that the client takes. */
export const notAcceptable = (offered: string) => new ApiError('InvalidInput', `This path answers in ${offered}.`, { status: 406 })

/** 408: the body comes so slowly that nobody waits for the rest. */
export const tooSlow = () =>
  new ApiError('InvalidInput', 'The request body came too slowly. Check the connection and send it again.', { status: 408 })

/** 413: the body is larger than the endpoint takes. */
export const bodyTooLarge = (limit: number) =>
  new ApiError('InvalidInput', `The request body is larger than ${limit} bytes.`, { status: 413 })

/** 415: the body is not of a type that the endpoint reads. */
export const unsupportedMediaType = (wanted: string) => new ApiError('InvalidInput', `Send the body as ${wanted}.`, { status: 415 })

/** 415: the body is compressed, which no endpoint undoes. */
export const encodedBody = (encoding: string) =>
  new ApiError('InvalidInput', `The body has the Content-Encoding ${encoding}. Send it without one.`, { status: 415 })

/** 416: the representation of so many bytes has no such part. */
export const rangeNotSatisfiable = (size: number) =>
  new ApiError('InvalidInput', `There is no such range: the archive has ${size} bytes.`, { status: 416 })

/** 400: the uploaded archive breaks a rule of the registry. */
export const packageRejected = (message: string) => new ApiError('PackageRejected', message)

/** 413 with the package code: the archive is larger than MAX_UPLOAD_BYTES. */
export const archiveTooLarge = (limit: number) =>
  new ApiError('PackageRejected', `The archive is larger than ${limit} bytes, the limit of this server (MAX_UPLOAD_BYTES).`, {
    status: 413,
  })

/** 409: the request contradicts what is there. */
export const conflict = (message: string) => new ApiError('Conflict', message)

/** 400: the request took all that one request may take of something. */
export const budgetSpent = (what: string, limit: string) =>
  new ApiError(
    'InvalidInput',
    `This request takes more ${what} than one request may (${limit}). Request less at a time: smaller pages, fewer fields.`,
  )

/** 429, with the seconds to wait; `what` says what there is too much of. */
export const rateLimited = (retryAfter: number, what = 'Too many requests.') =>
  new ApiError('RateLimitExceeded', `${what} Try again in ${retryAfter} seconds.`, { retryAfter })

/** 429: one address has more connections open than it may have. */
export const tooManyConnections = () =>
  new ApiError('RateLimitExceeded', 'Too many connections are open from this address. Close some, then try again.', { retryAfter: 10 })

/** 503: the resolvers did not say whether a domain shows what it should. */
export const verificationUnavailable = () =>
  new ApiError(
    'VerificationTemporarilyUnavailable',
    'The DNS servers did not answer, so the domain could not be checked. Try again in a minute.',
    { retryAfter: 60 },
  )

/** 503, with the seconds to wait: the database or the storage is away or full, or the server is stopping. The message says which. */
export const serviceUnavailable = (message: string, retryAfter = 5) => new ApiError('ServiceUnavailable', message, { retryAfter })

/** 503: there is no room for what should be written. */
export const diskFull = () =>
  serviceUnavailable("The server's disk is full, so nothing was stored. Ask an administrator to make room, then try again.", 60)

/** 503: less space is free than MIN_FREE_BYTES. The reason is for the log. */
export const lowSpace = (reason: string) =>
  Object.assign(
    serviceUnavailable('The server is low on disk space and accepts no archives. Ask an administrator to make room, then try again.', 60),
    {
      cause: new Error(reason),
    },
  )

/** 503: what archives are stored on is not there, or fails. The cause is for the log. */
export const storageAway = (cause?: unknown) =>
  Object.assign(serviceUnavailable('The storage of this server cannot be reached at the moment. Try again later.', 30), { cause })

/** What an error that its receiver may read was made from, for the log and the operator; any other error as it is. */
export const causeOf = (error: unknown): unknown => (error instanceof ApiError && error.cause instanceof Error ? error.cause : error)

/** The same, with where it came from. */
export function traceOf(error: unknown): string {
  const cause = causeOf(error)
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}

/** 500 without details: the cause is in the log, under the request id. */
export const internalError = (requestId: string) =>
  new ApiError('InternalError', `Something went wrong on the server (request ${requestId}).`)
