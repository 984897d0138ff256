import { GraphQLError } from 'graphql'

/** Stable error codes of the API, with the HTTP status of each. */
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
  /** HTTP status, if it differs from the code's default. Clients distinguish 405, 413 and 415 by status only. */
  status?: number
  /** Dotted path of the invalid input field. */
  field?: string
  /** Seconds to wait before retrying. */
  retryAfter?: number
  /** Confirmation that the caller must provide first. */
  proof?: 'password' | 'provider'
  /** Ways to prove the second factor that the sign-in lacks. */
  secondFactor?: readonly string[]
}

/** An error with a stable code, an HTTP status, and a message that clients may show to users. */
export class ApiError extends GraphQLError {
  readonly code: ErrorCode
  readonly status: number
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    const { status = statusOf[code], field, retryAfter, proof, secondFactor } = details
    // GraphQL Yoga reads the status and headers of its response from this extension.
    const http = { status, ...(retryAfter && { headers: { 'retry-after': String(retryAfter) } }) }
    const optional = {
      ...(field && { field }),
      ...(retryAfter && { retryAfter }),
      ...(proof && { proof }),
      ...(secondFactor && { secondFactor }),
    }
    super(message, { extensions: { code, ...optional, http } })
    this.name = 'ApiError'
    this.code = code
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** Returns a copy of an error with another message. */
export const reworded = ({ code, status, retryAfter }: ApiError, message: string) =>
  new ApiError(code, message, { status, ...(retryAfter !== undefined && { retryAfter }) })

/** 401: the request has no valid credential. */
export const missingAuthentication = (message = 'Sign in, or send a valid access token.') => new ApiError('MissingAuthentication', message)

/** 401 with `secondFactor`: the password was right, but the account has a second factor. */
export const secondFactorRequired = (message: string, secondFactor: readonly string[]) =>
  new ApiError('MissingAuthentication', message, { secondFactor })

/** 403: the caller is authenticated, but not permitted. */
export const insufficientPermissions = (message: string) => new ApiError('InsufficientPermissions', message)

/** 403 with `extensions.proof`: the session must confirm its password first. */
export const passwordProofRequired = () =>
  new ApiError(
    'InsufficientPermissions',
    'Confirm your password first: send it as currentPassword to POST /api/auth/confirm-password, then try again within 10 minutes.',
    { proof: 'password' },
  )

/** 403 with `extensions.proof`: the session of an account without a password must sign in at a provider again. */
export const providerProofRequired = () =>
  new ApiError('InsufficientPermissions', 'Confirm who you are first: sign in at your provider again, then try again within 10 minutes.', {
    proof: 'provider',
  })

/** 403: a state-changing request is authenticated by a cookie, but has no CSRF token from this server's own pages. */
export const csrfMismatch = (
  message = 'The X-CSRF-Token header is missing or does not belong to this session. Reload the page and try again.',
) => new ApiError('CsrfMismatch', message)

/** 404: the resource does not exist, or the caller may not know that it does. */
export const notFound = (message: string) => new ApiError('NotFound', message)

/** 404: no route matches the path, often because of a wrong base URL. The message contains the correct one. */
export const unknownAddress = (serverUrl: string) => notFound(`Not found. This registry is at ${serverUrl}.`)

/** 400: the input is invalid; `field` is the invalid field. */
export const invalidInput = (message: string, field?: string) => new ApiError('InvalidInput', message, field ? { field } : {})

/** 400: the connection was closed, or the framing of the body is wrong. */
export const bodyInterrupted = () => invalidInput('The connection was closed before the request body was complete. Send the request again.')

/** 405: the path does not support the method. */
export const methodNotAllowed = (allowed: string) => new ApiError('InvalidInput', `This path supports only ${allowed}.`, { status: 405 })

/** 406: the response is not available in any format that the client accepts. */
export const notAcceptable = (offered: string) => new ApiError('InvalidInput', `This path responds only with ${offered}.`, { status: 406 })

/** 408: the request body was not received in time. */
export const tooSlow = () =>
  new ApiError('InvalidInput', 'The request body was received too slowly. Check the connection and try again.', { status: 408 })

/** 413: the request body exceeds the limit of the endpoint. */
export const bodyTooLarge = (limit: number) =>
  new ApiError('InvalidInput', `The request body is larger than ${limit} bytes.`, { status: 413 })

/** 415: the endpoint does not support the content type of the body. */
export const unsupportedMediaType = (wanted: string) => new ApiError('InvalidInput', `Send the body as ${wanted}.`, { status: 415 })

/** 415: the body has a Content-Encoding; no endpoint supports any. */
export const encodedBody = (encoding: string) =>
  new ApiError('InvalidInput', `The body has the Content-Encoding ${encoding}. Send it without one.`, { status: 415 })

/** 417: the request has an expectation other than `100-continue`. */
export const expectationFailed = () => new ApiError('InvalidInput', 'The header Expect supports only 100-continue.', { status: 417 })

/** 416: the requested range is outside of an archive of `size` bytes. */
export const rangeNotSatisfiable = (size: number) =>
  new ApiError('InvalidInput', `The requested range is outside the archive, which has ${size} bytes.`, { status: 416 })

/** 400: the uploaded archive violates a rule of the registry. */
export const packageRejected = (message: string) => new ApiError('PackageRejected', message)

/** 413 with the package code: the archive is larger than MAX_UPLOAD_BYTES. */
export const archiveTooLarge = (limit: number) =>
  new ApiError('PackageRejected', `The archive is larger than ${limit} bytes, the limit of this server (MAX_UPLOAD_BYTES).`, {
    status: 413,
  })

/** 409: the request conflicts with the current state. */
export const conflict = (message: string) => new ApiError('Conflict', message)

/** 400: the request exceeds the budget of a single request. */
export const budgetSpent = (what: string, limit: string) =>
  new ApiError(
    'InvalidInput',
    `This request uses more ${what} than one request may (${limit}). Request less at a time: smaller pages or fewer fields.`,
  )

/** 429: a rate limit was exceeded. `retryAfter` is in seconds; `what` describes the limit. */
export const rateLimited = (retryAfter: number, what = 'Too many requests.') =>
  new ApiError('RateLimitExceeded', `${what} Try again in ${retryAfter} seconds.`, { retryAfter })

/** 429: one client address has too many open connections. */
export const tooManyConnections = () =>
  new ApiError('RateLimitExceeded', 'Too many connections are open from this address. Close some, then try again.', { retryAfter: 10 })

/** 503: the DNS resolvers did not answer, so a domain could not be verified. */
export const verificationUnavailable = () =>
  new ApiError(
    'VerificationTemporarilyUnavailable',
    'The DNS servers did not answer, so the domain could not be checked. Try again in a minute.',
    { retryAfter: 60 },
  )

/** 503: the database or the storage is unavailable or full, or the server is stopping; `message` states which. `retryAfter` is in seconds. */
export const serviceUnavailable = (message: string, retryAfter = 5) => new ApiError('ServiceUnavailable', message, { retryAfter })

/** 503: the disk is full. */
export const diskFull = () =>
  serviceUnavailable("The server's disk is full, so nothing was stored. Ask an administrator to free disk space, then try again.", 60)

/** 503: the process or the machine has too many open files. */
export const tooManyOpenFiles = () => serviceUnavailable('The server has too many open files at the moment. Try again in a few seconds.', 5)

/** 503: less disk space is free than MIN_FREE_BYTES. The reason is only logged. */
export const lowSpace = (reason: string) =>
  Object.assign(
    serviceUnavailable(
      'The server is low on disk space and accepts no archives. Ask an administrator to free disk space, then try again.',
      60,
    ),
    {
      cause: new Error(reason),
    },
  )

/** 503: the archive storage is unavailable or failing. The cause is only logged. */
export const storageAway = (cause?: unknown) =>
  Object.assign(serviceUnavailable('The storage of this server cannot be reached at the moment. Try again later.', 30), { cause })

/** Returns the internal cause of an ApiError for the log; returns any other error unchanged. */
export const causeOf = (error: unknown): unknown => (error instanceof ApiError && error.cause instanceof Error ? error.cause : error)

/** Returns the stack trace of the internal cause of an error, for the log. */
export function traceOf(error: unknown): string {
  const cause = causeOf(error)
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}

/** 500: an unexpected error. The response has no details; the cause is logged with the request id. */
export const internalError = (requestId: string) =>
  new ApiError('InternalError', `Something went wrong on the server (request ${requestId}).`)
