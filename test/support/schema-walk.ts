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

/** What a walk fills in for arguments: a name for texts, a row's id for ids. */
export type Words = { name: string; id: string; type: string }

/** Sends a query; tells whether it was answered with something. */
type Ask = (query: string, path: string) => Promise<boolean>

type Step = { text: string; type: string }
type Walker = { schema: GraphQLSchema; words: Words; ask: Ask; seen: Set<string> }

/**
 * Asks for every field that can be reached from the root fields, each by itself, since one refusal would hide what another gives away: every
 * field below every field that leads to its type, and not below what is not answered.
 */
export async function walk(schema: GraphQLSchema, words: readonly Words[], ask: Ask): Promise<void> {
  const fields = Object.values(schema.getQueryType()?.getFields() ?? {})
  const asked = new Map<string, Promise<boolean>>()
  const askOnce: Ask = (query, path) => asked.get(query) ?? asked.set(query, ask(query, path)).get(query) ?? Promise.resolve(false)
  for (const some of words) {
    for (const field of fields) await visit(field, [], { schema, words: some, ask: askOnce, seen: new Set() })
  }
}

async function visit(field: GraphQLField<unknown, unknown>, above: Step[], walker: Walker): Promise<void> {
  const { schema, words, ask, seen } = walker
  const type = getNamedType(field.type)
  const path = [...above, { text: `${field.name}${argumentsOf(field.args, words)}`, type: type.name }]
  const turn = [above[0]?.text, above.length > 1, nameOf(above.slice(-1)), above.at(-1)?.type, field.name].join(' ')
  if (seen.has(turn)) return
  seen.add(turn)
  if (isLeafType(type)) return void (await ask(queryOf(path), nameOf(path)))
  const objects = isAbstractType(type) ? schema.getPossibleTypes(type) : isObjectType(type) ? [type] : []
  for (const object of objects) {
    const inner = isAbstractType(type) ? [...path, { text: `... on ${object.name}`, type: object.name }] : path
    if (!(await ask(queryOf([...inner, { text: '__typename', type: 'String' }]), nameOf(inner)))) continue
    for (const one of Object.values(object.getFields())) await visit(one, inner, walker)
  }
}

const queryOf = (path: Step[]) => path.reduceRight((inner, { text }) => `{ ${text} ${inner} }`, '')
const nameOf = (path: Step[]) => path.map(({ text }) => text.replace(/\(.*/s, '')).join('.')

function argumentsOf(given: readonly GraphQLArgument[], words: Words): string {
  const wanted = given.filter(({ type, name }) => isNonNullType(type) || name === 'first' || isText(type, name))
  const texts = wanted.map(({ name, type }) => `${name}: ${literal(type, words)}`)
  return texts.length > 0 ? `(${texts.join(', ')})` : ''
}

const isText = (type: GraphQLInputType, name: string) => String(getNamedType(type)) === 'String' && name !== 'after' && name !== 'before'

const samples: Record<string, string> = { Int: '9', Float: '1', Boolean: 'true', SemVer: '"1.0.0"', DateTime: '"2020-01-01T00:00:00Z"' }

function literal(type: GraphQLInputType, words: Words): string {
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
