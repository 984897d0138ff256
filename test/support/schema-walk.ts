import { encodeGlobalID } from '@pothos/plugin-relay'
import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import type { Answer } from '../actor.ts'
import { isRequired } from './minimal-request.ts'

/** Values for the arguments of queries: a name for strings, and a row id with its type for ids. */
export type WalkArguments = { name: string; id: string; type: string }

/** Query for a single field, and the names on the path to it. */
export type FieldQuery = { query: string; path: string }

/** Sends queries and reports for each whether its response contained a value. */
type Ask = (asked: FieldQuery[]) => Promise<boolean[]>

type Step = { text: string; type: string }
/** Field, or one of its possible types, with its subfields. */
type Place = FieldQuery & { steps: Step[]; below: GraphQLField<unknown, unknown>[] }
type Walker = { schema: GraphQLSchema; words: WalkArguments; ask: Ask; seen: Set<string> }

/**
 * Queries every field that is reachable from the root fields, each in its own query, because an error in one field could hide what another one
 * reveals. Visits every subfield on every path to its type, and skips subfields of fields without a value.
 */
export async function walk(schema: GraphQLSchema, words: readonly WalkArguments[], ask: Ask): Promise<void> {
  const fields = Object.values(schema.getQueryType()?.getFields() ?? {})
  const known = new Map<string, boolean>()
  async function askOnce(asked: FieldQuery[]): Promise<boolean[]> {
    const fresh = asked.filter(({ query }) => !known.has(query))
    const answered = fresh.length > 0 ? await ask(fresh) : []
    for (const [index, { query }] of fresh.entries()) known.set(query, answered[index] ?? false)
    return asked.map(({ query }) => known.get(query) ?? false)
  }
  for (const some of words) await visit(fields, [], { schema, words: some, ask: askOnce, seen: new Set() })
}

async function visit(fields: GraphQLField<unknown, unknown>[], above: Step[], walker: Walker): Promise<void> {
  const places = fields.flatMap((field) => placesOf(field, above, walker))
  const answered = await walker.ask(places)
  for (const [index, { steps, below }] of places.entries()) if (answered[index] && below.length > 0) await visit(below, steps, walker)
}

/** Returns the queries for a field. Returns none if the field was already visited in an equivalent position. */
function placesOf(field: GraphQLField<unknown, unknown>, above: Step[], { schema, words, seen }: Walker): Place[] {
  const type = getNamedType(field.type)
  const steps = [...above, { text: `${field.name}${argumentsOf(field.args, words)}`, type: type.name }]
  const turn = [above[0]?.text, above.length > 1, nameOf(above.slice(-1)), above.at(-1)?.type, field.name].join(' ')
  if (seen.has(turn)) return []
  seen.add(turn)
  if (isLeafType(type)) return [{ query: queryOf(steps), path: nameOf(steps), steps, below: [] }]
  const objects = isAbstractType(type) ? schema.getPossibleTypes(type) : isObjectType(type) ? [type] : []
  return objects.map((object) => {
    const inner = isAbstractType(type) ? [...steps, { text: `... on ${object.name}`, type: object.name }] : steps
    const query = queryOf([...inner, { text: '__typename', type: 'String' }])
    return { query, path: nameOf(inner), steps: inner, below: Object.values(object.getFields()) }
  })
}

/** Response to a query, with the data of each requested field. */
export type FieldAnswers = { query: string; answer: Answer; fields: { asked: FieldQuery; data: unknown }[] }

/** Maximum number of aliases that the server accepts in a query. */
const maxTogether = 25

/** Sends several queries in one request, each under an alias. Splits a batch with errors in halves, down to single queries. */
export async function askInBatches(asked: FieldQuery[], send: (query: string) => Promise<Answer>): Promise<FieldAnswers[]> {
  const told: FieldAnswers[] = []
  for (let at = 0; at < asked.length; at += maxTogether) {
    const some = asked.slice(at, at + maxTogether)
    const query = `{ ${some.map((one, index) => one.query.replace('{ ', `a${index}: `).replace(/ \}$/, '')).join(' ')} }`
    const answer = await send(query)
    if (answer.body.errors && some.length > 1) {
      const half = Math.ceil(some.length / 2)
      for (const part of [some.slice(0, half), some.slice(half)]) told.push(...(await askInBatches(part, send)))
    } else told.push({ query, answer, fields: some.map((one, index) => ({ asked: one, data: answer.body.data?.[`a${index}`] })) })
  }
  return told
}

const queryOf = (path: Step[]) => path.reduceRight((inner, { text }) => `{ ${text} ${inner} }`, '')
const nameOf = (path: Step[]) => path.map(({ text }) => text.replace(/\(.*/s, '')).join('.')

function argumentsOf(given: readonly GraphQLArgument[], words: WalkArguments): string {
  const wanted = given.filter((one) => !one.deprecationReason && (isRequired(one) || one.name === 'first' || isText(one.type, one.name)))
  const texts = wanted.map(({ name, type }) => `${name}: ${literal(type, words)}`)
  return texts.length > 0 ? `(${texts.join(', ')})` : ''
}

const isText = (type: GraphQLInputType, name: string) => String(getNamedType(type)) === 'String' && name !== 'after'

const samples: Record<string, string> = { Int: '9', Float: '1', Boolean: 'true', SemVer: '"1.0.0"', DateTime: '"2020-01-01T00:00:00Z"' }

function literal(type: GraphQLInputType, words: WalkArguments): string {
  const bare = isNonNullType(type) ? type.ofType : type
  if (isListType(bare)) return `[${literal(bare.ofType, words)}]`
  if (isEnumType(bare)) return bare.getValues()[0]?.name ?? ''
  if (isInputObjectType(bare)) {
    const fields = Object.values(bare.getFields()).filter((field) => isRequired(field))
    return `{ ${fields.map((field) => `${field.name}: ${literal(field.type, words)}`).join(', ')} }`
  }
  if (bare.name === 'ID') return JSON.stringify(encodeGlobalID(words.type, words.id))
  return samples[bare.name] ?? JSON.stringify(words.name)
}
