import { GraphQLError } from 'graphql'
import { ApiError, invalidInput } from '../errors.ts'
import type { Route } from './route.ts'

/**
 * The error to answer with for one that came out of an execution: our own as it is; a variable that does not fit as 400 with its field;
 * anything else unchanged, to be masked and logged by the door.
 */
export function toApiError(error: GraphQLError): Error {
  if (error instanceof ApiError) return error
  return misfitOf(error) ?? rootCause(error) ?? error
}

/** 400 for a value that does not fit: names its place, says what it must be, and quotes what was sent, unless that is to be kept secret. */
export function misfit(path: string[], wanted: string, value: unknown): ApiError {
  const field = path.join('.')
  return invalidInput(`${field}: ${wanted}${sent(field, JSON.stringify(value) ?? '')}.`, field)
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

/** graphql-js says: Variable "$input" has invalid value at .password: … */
function misfitOf({ message }: GraphQLError): ApiError | null {
  const [, variable = '', path = '', reason = ''] =
    /^Variable "\$(\w+)" has invalid value(?: at \.?([\w.[\]]+))?: ([^]*)$/.exec(message) ?? []
  if (!variable) return null
  const missing = /to include required field "(\w+)"/.exec(reason)?.[1]
  const name = variable === 'input' ? '' : variable
  const field = [path.startsWith('[') ? `${name}${path}` : path, missing].filter(Boolean).join('.') || name
  if (missing || /non-null/i.test(reason))
    return invalidInput(field ? `${field}: is required.` : 'The body must be a JSON object.', field || undefined)
  return invalidInput(field ? `${field}: ${wanted(reason, field)}` : wanted(reason, field), field || undefined)
}

/** What came instead, cut short. */
const sent = (field: string, text: string): string =>
  text === '' || /password|secret|token|code/i.test(field) ? '' : `, not ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`

const kinds: Record<string, string> = {
  String: 'a string',
  ID: 'a string',
  Int: 'a whole number',
  Float: 'a number',
  Boolean: 'true or false',
}

function wanted(reason: string, field: string): string {
  const [, scalar = '', value = ''] = /^(String|ID|Int|Float|Boolean) cannot represent [^:]*: ([^]*)$/.exec(reason) ?? []
  if (scalar) return `must be ${kinds[scalar]}${sent(field, value)}.`
  const [, word = '', type] = /^Value ("[^]*") does not exist in "(\w+)" enum/.exec(reason) ?? []
  if (type) return `must be a value of ${type}${sent(field, word)}.`
  return reason.replace(/, found: [^]*$/, '.')
}
