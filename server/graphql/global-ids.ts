import { decodeGlobalID } from '@pothos/plugin-relay'
import { type GraphQLField, type GraphQLInputType, type GraphQLSchema, getNamedType, isInputObjectType, isInterfaceType } from 'graphql'
import { invalidInput } from '../errors.ts'

/** Checks the value of an argument or input field; `path` is where it stands. */
type Check = (value: unknown, path: string[]) => void

/**
 * Makes the check of a field's global ids: that each is one of ours, and of a type that belongs there. Null when the field takes none.
 * @throws Error when an input does not say which type its ids are of.
 */
export function globalIdCheck(
  schema: GraphQLSchema,
  field: GraphQLField<unknown, never>,
): ((args: Record<string, unknown>) => void) | null {
  const takesAny = field.name === 'node' || field.name === 'nodes'
  const checks = field.args.flatMap((argument) => named(argument, checkOf(schema, argument, takesAny)))
  if (checks.length === 0) return null
  return (args) => checks.forEach(([name, check]) => check(args[name], [name]))
}

type Input = { name: string; type: GraphQLInputType; extensions: object }
type Marks = { isRelayGlobalID?: boolean; relayGlobalIDFor?: { typename: string }[] | null }

const named = (input: Input, check: Check | null): [string, Check][] => (check ? [[input.name, check]] : [])

function checkOf(schema: GraphQLSchema, input: Input, takesAny = false): Check | null {
  const { isRelayGlobalID, relayGlobalIDFor } = input.extensions as Marks
  const type = getNamedType(input.type)
  if (isRelayGlobalID) {
    const known = nodeTypes(schema)
    const types = relayGlobalIDFor?.map(({ typename }) => typename) ?? known
    if (!relayGlobalIDFor && !takesAny) throw new Error(`${input.name} does not say which type its ids are of`)
    return each((value, path) => checkGlobalId(value, { types, known }, path))
  }
  if (!isInputObjectType(type)) return null
  const checks = Object.values(type.getFields()).flatMap((inner) => named(inner, checkOf(schema, inner)))
  if (checks.length === 0) return null
  return each((value, path) => checks.forEach(([name, check]) => check((value as Record<string, unknown>)[name], [...path, name])))
}

/** The types that have global ids; `node` and `nodes` take those of all. */
function nodeTypes(schema: GraphQLSchema): string[] {
  const node = schema.getType('Node')
  return isInterfaceType(node) ? schema.getPossibleTypes(node).map((type) => type.name) : []
}

function checkGlobalId(value: unknown, { types, known }: { types: string[]; known: string[] }, path: string[]): void {
  const field = path.filter((part) => part !== 'input').join('.')
  const typename = typeOf(String(value))
  if (typename === null || !known.includes(typename)) throw invalidInput(`${field}: ${quoted(value)} is not an id of this server.`, field)
  if (!types.includes(typename))
    throw invalidInput(`${field}: ${quoted(value)} is the id of a ${typename}. Send the id of a ${types.join(' or ')}.`, field)
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
