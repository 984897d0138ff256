import { GraphQLError } from 'graphql'
import { ApiError, invalidInput } from '../errors.ts'

/**
 * The error to answer with for one that came out of an execution: our own as it is; a variable that does not fit as 400 with its field;
 * anything else unchanged, to be masked and logged by the door.
 */
export function toApiError(error: GraphQLError): Error {
  const original = rootCause(error)
  if (original instanceof ApiError) return original
  if (original) return original
  return misfit(error.message) ?? error
}

function rootCause(error: GraphQLError): Error | undefined {
  let cause: Error | undefined = error.originalError
  while (cause instanceof GraphQLError && !(cause instanceof ApiError) && cause.originalError) cause = cause.originalError
  return error instanceof ApiError ? error : cause
}

/** graphql-js says: Variable "$input" has invalid value at .name: Expected … — or the like; the field is what matters here. */
function misfit(message: string): ApiError | null {
  const variable = /^Variable "\$(\w+)"/.exec(message)?.[1]
  if (!variable) return null
  const missing = /to include required field "(\w+)"|Field "(\w+)" of required type/.exec(message)
  const path = /(?:at |value at )"?\$?(?:input|value)?\.?([\w.[\]]*)"?[:;]/.exec(message)?.[1] ?? ''
  const field = [path.replace(/^input\.?/, ''), missing?.[1] ?? missing?.[2]].filter(Boolean).join('.') || (variable === 'input' ? undefined : variable)
  if (missing) return invalidInput(`${field}: is required.`, field)
  const reason = message.replace(/^[^:;]*[:;]\s*/, '')
  return invalidInput(field ? `${field}: ${reason}` : `The request does not fit: ${reason}`, field)
}
