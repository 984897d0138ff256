import { type ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { FastifyReply } from 'fastify'
import type { Context } from '../access/context.ts'
import { raceConflict, unavailable } from '../db/unavailable.ts'
import { ApiError, internalError, statusOf, invalidInput } from '../../errors.ts'
import { challenge, describeFailure } from '../http/failures.ts'
import { randomText } from '../http/keys.ts'
import { noteFailure, type LoggedFailure } from '../http/request-log.ts'
import type { Services } from '../../services.ts'

/** Adds the API's error codes to errors of graphql-js, such as invalid variables or documents, and sets the headers that belong to errors. */
export const formatErrors: Plugin<object, { caller: Context }> = {
  onResultProcess(event) {
    const { result, serverContext } = event
    if (!('errors' in result) || !result.errors) return
    for (const error of result.errors) noteReason(serverContext.caller, error)
    const { spent } = serverContext.caller.budget ?? {}
    // Fields that were skipped after the budget was exhausted all have the same error.
    if (spent) return event.setResult({ errors: [spent] })
    const errors = (result.errors as GraphQLError[]).map(coded)
    setErrorHeaders(errors, serverContext.caller.reply)
    event.setResult({ ...(result as ExecutionResult), errors })
  },
}

/** Returns the error to send for one that a resolver threw: an ApiError unchanged; any other error is logged and masked. */
export function masked({ log }: Pick<Services, 'log'>, error: unknown): Error {
  const cause = error instanceof GraphQLError ? toApiError(error) : error
  const known = cause instanceof ApiError ? cause : raceConflict(cause)
  // A GraphQLError without a cause is an error in the request, reported by graphql-js.
  if (!known && error instanceof GraphQLError && cause === error) return coded(error)
  const failure = known ?? unavailable(cause)
  if (failure) return explained(at(failure, error), describeFailure(failure, cause))
  const mistake = internalError(randomText(6))
  log.error(`${mistake.message}: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`)
  return at(mistake, error)
}

/** Log details of errors whose message does not include them, until the request is logged. */
const reasons = new WeakMap<Error, LoggedFailure>()

function explained(shown: Error, details: LoggedFailure | null): Error {
  if (details) reasons.set(shown, details)
  return shown
}

/** Adds the log details of an error to the log line of its request. */
export function noteReason({ log, request }: Context, error: Error): void {
  const details = reasons.get(error)
  if (details) noteFailure(log, request, details)
}

function coded(error: GraphQLError): GraphQLError {
  if (typeof error.extensions?.code === 'string' && error.extensions.code in statusOf) return error
  const known = toApiError(error)
  if (known instanceof ApiError) return at(known, error)
  const { nodes = null, path = null, message, extensions } = error
  return new GraphQLError(message, { nodes, path, extensions: { ...extensions, code: 'InvalidInput' } })
}

const at = (failure: ApiError, error: unknown): GraphQLError =>
  error instanceof GraphQLError
    ? new GraphQLError(failure.message, { nodes: error.nodes ?? null, path: error.path ?? null, extensions: failure.extensions })
    : failure

/** Sets the same headers as REST: `Retry-After`, and `WWW-Authenticate` for 401 and 403. */
function setErrorHeaders(errors: GraphQLError[], reply: FastifyReply): void {
  const seconds = errors.map(({ extensions }) => Number(extensions.retryAfter ?? 0))
  if (Math.max(...seconds) > 0) reply.header('retry-after', String(Math.max(...seconds)))
  const refused = errors.find(({ extensions }) => [401, 403].includes(statusOf[extensions.code as keyof typeof statusOf]))
  if (refused) reply.header('www-authenticate', challenge(refused.message))
}

/** Messages of graphql-js, whose errors have no codes. An update can change them: test/contract/refused-values.test.ts covers each. */
const texts = {
  variable: /^Variable "\$(\w+)" has invalid value(?: at ([\w.[\]]+))?: ([^]*)$/,
  missingArgument: /^Argument "\S+\((\w+):\)" of type "\S+" is required/,
  missingField: /to include required field "(\w+)"/,
  unknownField: /not to include unknown field "(\w+)"(?:\.( Did you mean [^?]*\?))?/,
  oneOf: /OneOf Input Object type/,
  null: /non-null/i,
  scalar: /^(String|ID|Int|Float|Boolean) cannot represent [^:]*: ([^]*)$/,
  enumValue: /^Value ("[^]*") does not exist in "(\w+)" enum/,
  enumKind: /^Enum "(\w+)" cannot represent non-\w+ value: ([^]*?)\.(?: Did you mean [^]*)?$/,
  received: /, found: [^]*$/,
}

/** Converts an error of an execution: invalid variables and missing arguments become 400; an error of a resolver is unwrapped. */
export function toApiError(error: GraphQLError): Error {
  if (error instanceof ApiError) return error
  return invalidVariable(error) ?? rootCause(error) ?? missingArgument(error) ?? error
}

/** Returns a 400 error for an invalid value. The message names the path, the expected type, and the value unless the field is secret. */
export function invalidValue(path: string[], wanted: string, value: unknown): ApiError {
  const field = path.join('.')
  return invalidInput(`${field}: ${wanted}${sent(field, JSON.stringify(value) ?? '')}.`, field)
}

function rootCause(error: GraphQLError): Error | undefined {
  const cause = error.originalError
  if (!cause || cause instanceof ApiError) return cause
  if (!(cause instanceof GraphQLError)) return cause
  return rootCause(cause)
}

/** Converts a value error of graphql-js to a 400 error with field and expected type. `place`: the path in `name`, such as `.scopes[0]`. */
export function invalidValueError(name: string, place: string, reason: string): ApiError {
  const missing = texts.missingField.exec(reason)?.[1]
  const [, unknown, hint = ''] = texts.unknownField.exec(reason) ?? []
  const path = place.startsWith('[') ? `${name}${place}` : place.replace(/^\./, '')
  const field = [path, missing ?? unknown].filter(Boolean).join('.') || name
  if (unknown) return invalidInput(`${field}: is not a known field.${hint}`, field)
  if (texts.oneOf.test(reason)) return invalidInput(`${name || field}: must have exactly one of its fields.`, name || field)
  if (missing || texts.null.test(reason))
    return invalidInput(field ? `${field}: is required.` : 'The body must be a JSON object.', field || undefined)
  return invalidInput(field ? `${field}: ${wanted(reason, field)}` : wanted(reason, field), field || undefined)
}

/** Returns whether the reason is about a field of the value, rather than about the whole value. */
export const namesField = (reason: string): boolean => texts.missingField.test(reason) || texts.unknownField.test(reason)

function missingArgument({ message }: GraphQLError): ApiError | null {
  const name = texts.missingArgument.exec(message)?.[1]
  return name === undefined ? null : invalidInput(`${name}: is required.`, name)
}

function invalidVariable({ message }: GraphQLError): ApiError | null {
  const [, variable = '', place = '', reason = ''] = texts.variable.exec(message) ?? []
  return variable ? invalidValueError(variable === 'input' ? '' : variable, place, reason) : null
}

/** Returns the received value for a message, truncated, or an empty string for secret fields. */
const sent = (field: string, text: string): string =>
  text === '' || /password|secret|token|code|otp/i.test(field) ? '' : `, not ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`

const kinds: Record<string, string> = {
  String: 'a string',
  ID: 'a string',
  Int: 'a whole number',
  Float: 'a number',
  Boolean: 'true or false',
}

function wanted(reason: string, field: string): string {
  const [, scalar = '', value = ''] = texts.scalar.exec(reason) ?? []
  if (scalar === 'Int' && /^-?\d+$/.test(value)) return `must be a whole number from -2147483648 to 2147483647${sent(field, value)}.`
  if (scalar) return `must be ${kinds[scalar]}${sent(field, value)}.`
  const [, word = '', type] = texts.enumValue.exec(reason) ?? []
  if (type) return `must be a value of ${type}${sent(field, word)}.`
  const [, group, other = ''] = texts.enumKind.exec(reason) ?? []
  if (group) return `must be a value of ${group}${other.startsWith('"') ? ', written without quotes' : ''}${sent(field, other)}.`
  return reason.replace(texts.received, '.')
}
