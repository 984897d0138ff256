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

/** What a walk fills in for arguments: a name for texts, a row's id for ids. */
export type WalkArguments = { name: string; id: string; type: string }

/** A field by itself: what asks for it, and the names on the way to it. */
export type FieldQuery = { query: string; path: string }

/** Asks for fields; tells of each whether it was answered with something. */
type Ask = (asked: FieldQuery[]) => Promise<boolean[]>

type Step = { text: string; type: string }
/** A field, or a type that it may have, and the fields below that. */
type Place = FieldQuery & { steps: Step[]; below: GraphQLField<unknown, unknown>[] }
type Walker = { schema: GraphQLSchema; words: WalkArguments; ask: Ask; seen: Set<string> }

/**
 * Asks for every field that can be reached from the root fields, each by itself, since one refusal would hide what another gives away: every
 * field below every field that leads to its type, and not below what is not answered.
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

/** Where a field leads to; nowhere when it was asked for in such a place before. */
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

/** What a query was answered with, and of each field that it asked for, by its place among them, what the answer holds. */
export type FieldAnswers = { query: string; answer: Answer; fields: { asked: FieldQuery; data: unknown }[] }

/** The server takes no more aliases in a query. */
const maxTogether = 25

/** Asks for several fields in one query, each below an alias of its own. What had an error is asked for in halves: one by one in the end. */
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
  const wanted = given.filter(({ type, name }) => isNonNullType(type) || name === 'first' || isText(type, name))
  const texts = wanted.map(({ name, type }) => `${name}: ${literal(type, words)}`)
  return texts.length > 0 ? `(${texts.join(', ')})` : ''
}

const isText = (type: GraphQLInputType, name: string) => String(getNamedType(type)) === 'String' && name !== 'after' && name !== 'before'

const samples: Record<string, string> = { Int: '9', Float: '1', Boolean: 'true', SemVer: '"1.0.0"', DateTime: '"2020-01-01T00:00:00Z"' }

function literal(type: GraphQLInputType, words: WalkArguments): string {
  const bare = isNonNullType(type) ? type.ofType : type
  if (isListType(bare)) return `[${literal(bare.ofType, words)}]`
  if (isEnumType(bare)) return bare.getValues()[0]?.name ?? ''
  if (isInputObjectType(bare)) {
    const fields = Object.values(bare.getFields()).filter((field) => isNonNullType(field.type))
    return `{ ${fields.map((field) => `${field.name}: ${literal(field.type, words)}`).join(', ')} }`
  }
  if (bare.name === 'ID') return JSON.stringify(encodeGlobalID(words.type, words.id))
  return samples[bare.name] ?? JSON.stringify(words.name)
}
