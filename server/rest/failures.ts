import { GraphQLError } from 'graphql'
import { ApiError, invalidInput } from '../errors.ts'
import type { Route } from './route.ts'

/**
 * The error to answer with for one that came out of an execution: our own as it is; a variable that does not fit as 400 with its field;
 * anything else unchanged, to be masked and logged by the door.
 */
export function toApiError(error: GraphQLError): Error {
  if (error instanceof ApiError) return error
  return rootCause(error) ?? misfit(error) ?? error
}

/** The error with the field's name on REST, where that differs. */
export function inRestNames(error: Error, names: Route['names']): Error {
  if (!names || !(error instanceof ApiError) || error.code !== 'InvalidInput') return error
  const theirs = Object.keys(names).find((name) => names[name] === error.extensions.field)
  return theirs === undefined ? error : invalidInput(error.message.replace(/^\w+/, theirs), theirs)
}

/** What a resolver threw, if one did. */
function rootCause(error: GraphQLError): Error | undefined {
  const cause = error.originalError
  if (!cause || cause instanceof ApiError) return cause
  if (!(cause instanceof GraphQLError)) return cause
  return rootCause(cause)
}

/** graphql-js says: Variable "$input" has invalid value at .password: … — the place is what matters; the value itself is not repeated. */
function misfit({ message }: GraphQLError): ApiError | null {
  const [, variable = '', path = '', reason = ''] =
    /^Variable "\$(\w+)" has invalid value(?: at \.([\w.[\]]+))?: ([^]*)$/.exec(message) ?? []
  if (!variable) return null
  const missing = /to include required field "(\w+)"/.exec(reason)?.[1]
  const field = [path, missing].filter(Boolean).join('.') || (variable === 'input' ? '' : variable)
  if (missing || /non-null/i.test(reason))
    return invalidInput(field ? `${field}: is required.` : 'The body must be a JSON object.', field || undefined)
  return invalidInput(field ? `${field}: ${wanted(reason)}` : wanted(reason), field || undefined)
}

const kinds: Record<string, string> = {
  String: 'a string',
  ID: 'a string',
  Int: 'a whole number',
  Float: 'a number',
  Boolean: 'true or false',
}

function wanted(reason: string): string {
  const scalar = /^(String|ID|Int|Float|Boolean) cannot represent/.exec(reason)?.[1]
  if (scalar) return `must be ${kinds[scalar]}.`
  if (/\benum\b/i.test(reason)) return `${/"([^"]*)"/.exec(reason)?.[0] ?? 'this'} is not a value that it can have.`
  return reason.replace(/, found: [^]*$/, '.')
}
