import { decodeGlobalID } from '@pothos/plugin-relay'
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isScalarType,
  getNullableType,
  isListType,
} from 'graphql'
import { invalidInput } from '../../errors.ts'
import type { Context } from '../access/context.ts'

/** Maximum string length in UTF-16 code units, unless an argument or input field declares another as `extensions: { maxLength }`. */
const defaultMaxLength = 1024

type Check = (value: unknown, path: string[]) => void

type Input = { name: string; type: GraphQLInputType; extensions: object }
type Marks = { isRelayGlobalID?: boolean; relayGlobalIDFor?: { typename: string }[] | null; maxLength?: number }

/**
 * Returns a check of the arguments of a field: lengths and characters of strings, and types of global ids. Null without arguments.
 * @throws Error if an id argument declares no type; ApiError InvalidInput (the check).
 */
export function argumentCheck(
  schema: GraphQLSchema,
  field: GraphQLField<unknown, never>,
): ((args: Record<string, unknown>) => void) | null {
  if (field.args.length === 0) return null
  const takesAny = field.name === 'node' || field.name === 'nodes'
  const checks = field.args.flatMap((argument) => named(argument, checkOf(schema, argument, takesAny)))
  return (args) => checks.forEach(([name, check]) => check(args[name], [name]))
}

const named = (input: Input, check: Check | null): [string, Check][] => (check ? [[input.name, check]] : [])

function checkOf(schema: GraphQLSchema, input: Input, takesAny = false): Check | null {
  const type = getNamedType(input.type)
  if (isScalarType(type)) {
    const checkId = globalIdCheck(schema, input, takesAny)
    const { maxLength = defaultMaxLength } = input.extensions as Marks
    return each((value, path) => {
      if (typeof value === 'string') checkText(value, maxLength, fieldOf(path))
      checkId?.(value, path)
    })
  }
  if (!isInputObjectType(type)) return null
  const checks = Object.values(type.getFields()).flatMap((inner) => named(inner, checkOf(schema, inner)))
  if (checks.length === 0) return null
  return each((value, path) => checks.forEach(([name, check]) => check((value as Record<string, unknown>)[name], [...path, name])))
}

/** Returns the name of an input as used in error messages, without the wrapping `input`. */
const fieldOf = (path: string[]) => path.filter((part) => part !== 'input').join('.')

/** Throws if a string is too long or cannot be stored unchanged: PostgreSQL does not store NUL, and unpaired surrogates have no UTF-8 encoding. */
function checkText(text: string, maxLength: number, field: string): void {
  if (text.length > maxLength) throw invalidInput(`${field}: must be at most ${maxLength} characters long`, field)
  if (text.includes('\0')) throw invalidInput(`${field}: must not contain the character NUL.`, field)
  if (!text.isWellFormed()) throw invalidInput(`${field}: must be well-formed Unicode, without unpaired surrogates.`, field)
}

function globalIdCheck(schema: GraphQLSchema, { name, extensions }: Input, takesAny: boolean): Check | null {
  const { isRelayGlobalID, relayGlobalIDFor } = extensions as Marks
  if (!isRelayGlobalID) return null
  if (!relayGlobalIDFor && !takesAny) throw new Error(`${name} does not declare the types of its ids`)
  const known = nodeTypes(schema)
  const types = relayGlobalIDFor?.map(({ typename }) => typename) ?? known
  return (value, path) => checkGlobalId(value, { types, known }, path)
}

function nodeTypes(schema: GraphQLSchema): string[] {
  const node = schema.getType('Node')
  return isInterfaceType(node) ? schema.getPossibleTypes(node).map((type) => type.name) : []
}

function checkGlobalId(value: unknown, { types, known }: { types: string[]; known: string[] }, path: string[]): void {
  const field = fieldOf(path)
  const typename = typeOf(String(value))
  if (typename === null || !known.includes(typename)) throw invalidInput(`${field}: ${quoted(value)} is not an id of this server.`, field)
  if (!types.includes(typename)) throw invalidInput(`${field}: must be the id of a ${types.join(' or ')}, not of a ${typename}.`, field)
}

const quoted = (value: unknown) => JSON.stringify(String(value).slice(0, 100))

function typeOf(globalId: string): string | null {
  try {
    return decodeGlobalID(globalId).typename
  } catch {
    return null
  }
}

const each =
  (check: Check): Check =>
  (value, path) => {
    if (value == null) return
    if (Array.isArray(value)) for (const one of value) check(one, path)
    else check(value, path)
  }

/**
 * Makes a resolver respect the budget of its request: throws if it is exhausted, yields to other requests, and counts listed objects. Names in a list
 * cost hardly anything and are not counted, so that the list of all packages can be read from a registry of any size.
 */
export function enforceBudget(field: GraphQLField<unknown, Context>): void {
  const { resolve } = field
  if (!resolve) return
  const isList = isListType(getNullableType(field.type)) && !isLeafType(getNamedType(field.type))
  field.resolve = (parent, args, context, info) => {
    const { budget } = context
    if (!budget) return resolve(parent, args, context, info)
    budget.check()
    const work = () => resolve(parent, args, context, info)
    const result = budget.passField()?.then(work) ?? work()
    return isList ? counted(result, budget) : result
  }
}

async function counted(result: unknown, budget: Pick<NonNullable<Context['budget']>, 'spendObjects'>): Promise<unknown> {
  const list = await result
  if (Array.isArray(list)) budget.spendObjects(list.length)
  return list
}
