import {
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schema } from '../../server/schema.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { argumentsWithVariable } from '../support/minimal-request.ts'

type Input = { name: string; type: GraphQLInputType; extensions: object }
/** A field of the schema, with the path of arguments and input fields to one of its text arguments. */
type Place = { type: string; field: GraphQLField<unknown, unknown>; inputs: Input[] }

const textTypes = ['String', 'ID', 'SemVer', 'URL', 'DateTime']
const roots = ['Query', 'Mutation', 'Subscription']

function textsIn(inputs: Input[]): Input[][] {
  const type = getNamedType(inputs.at(-1)?.type)
  if (isInputObjectType(type)) return Object.values(type.getFields()).flatMap((field) => textsIn([...inputs, field]))
  return isScalarType(type) && textTypes.includes(type.name) ? [inputs] : []
}

const places = Object.values(schema.getTypeMap()).flatMap((type) => {
  if (!isObjectType(type) || type.name.startsWith('__')) return []
  const fields = Object.values(type.getFields())
  const found = fields.flatMap((field) => field.args.flatMap((one) => textsIn([one])).map((inputs) => ({ type: type.name, field, inputs })))
  return found.map((place) => [[type.name, place.field.name, ...place.inputs.map(({ name }) => name)].join('.'), place] as const)
})

function maxLengthOf({ inputs }: Place): number {
  const { maxLength }: { maxLength?: number } = inputs.at(-1)?.extensions ?? {}
  return maxLength ?? 0
}

let app: TestApp
/** A server without an owner, because the setup fields exist only until there is one. */
let fresh: TestApp
let owner: Actor
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
  fresh = await testApp({ setUp: false })
  owner = await (await app.owner()).session()
})
afterAll(() => Promise.all([app, fresh].map((one) => one[Symbol.asyncDispose]())))

const long = 'x'.repeat(1_000_000)
const refused = /must be at most \d+ characters long|must be a version such as|must be a moment such as/

it('has few arguments that accept more than 1,024 characters', () => {
  const larger = places.filter(([, place]) => maxLengthOf(place) > 1024)
  expect(larger.map(([title, place]) => `${title} ${maxLengthOf(place)}`).toSorted()).toEqual([
    'Mutation.createPublisher.input.description 4000',
    'Mutation.createPublisher.input.websiteUrl 2000',
    'Mutation.importAdvisories.input.osv 1048576',
    'Mutation.saveApp.input.lock 262144',
    'Mutation.updateLegalDocument.input.markdown 262144',
    'Mutation.updatePublisher.input.description 4000',
    'Mutation.updatePublisher.input.websiteUrl 2000',
    'Query.legalPreview.markdown 262144',
    'Query.mirrorCheck.lock 262144',
    'Query.upgradeCheck.lock 262144',
  ])
})

const ofRoots = places.filter(([, { type }]) => roots.includes(type))
const bounded = ofRoots.filter(([title]) => title !== 'Mutation.importAdvisories.input.osv')

it.each(bounded)('refuses a text of 1 MB: %s', async (title, { type, field, inputs }) => {
  const textType = getNamedType(inputs.at(-1)?.type)
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'
  const call = `${field.name}(${argumentsWithVariable(field.args, inputs, field.name)})`
  // Without an owner no user can sign in, and anonymous requests are limited to 128 KiB.
  const [actor, value] = /setup/i.test(field.name) ? [fresh.anonymous, long.slice(0, 100_000)] : [owner, long]
  const headers = { accept: type === 'Subscription' ? 'text/event-stream' : 'application/json' }
  const query = `${type.toLowerCase()} ($value: ${String(textType)}!) { ${call}${selection} }`
  const answer = await actor.send('POST', '/graphql', { query, variables: { value } }, { ip: app.address(), headers })
  expect({ title, text: answer.raw.toString().slice(0, 1000) }).toMatchObject({ text: expect.stringMatching(refused) })
})

it('refuses advisories larger than the body limit', async () => {
  const query = 'mutation ($osv: String!) { importAdvisories(input: { osv: $osv }) { imported } }'
  expect(await owner.graphql(query, { osv: long + long })).toMatchObject({ status: 413 })
})

const ofObjects = places.filter(([, { type }]) => !roots.includes(type))

it.each(ofObjects)('refuses a text of 1 MB on any object: %s', async (_title, { field, inputs }) => {
  const args = inputs.reduceRight<unknown>((value, { name, type }) => ({ [name]: isList(type) ? [value] : value }), long)
  await expect(async () => field.resolve?.({}, args as Record<string, unknown>, {}, {} as never)).rejects.toMatchObject({
    code: 'InvalidInput',
    message: expect.stringMatching(refused),
  })
})

const isList = (type: GraphQLInputType) => isListType(isNonNullType(type) ? type.ofType : type)

it('refuses a long name repeated under many aliases and counts its length in the cost', async () => {
  const names = Array.from({ length: 29 }, (_, index) => `a${index}: package(name: $name) { name }`).join(' ')
  const query = `query ($name: String!) { ${names} }`
  const many = await owner.graphql(query, { name: long })
  expect(many.body.errors[0].message).toMatch(/^This query costs 29\d{3}, and one may cost 5000\./)
  const few = await owner.graphql(query, { name: 'x'.repeat(1025) })
  expect(few.body.errors).toHaveLength(29)
  expect(few.body.errors[0]).toMatchObject({
    message: 'name: must be at most 1024 characters long',
    extensions: { code: 'InvalidInput', field: 'name' },
  })
  expect((await owner.graphql(query, { name: 'x'.repeat(1024) })).body).toMatchObject({ data: { a0: null }, extensions: { cost: 116 } })
})

it('limits anonymous queries to 128 KiB', async () => {
  const ip = app.address()
  const ask = (actor: Actor, length: number) => actor.graphql('{ __typename }', { unused: 'x'.repeat(length) }, { ip })
  expect(await ask(app.anonymous, 128 * 1024)).toMatchObject({ status: 413, body: { errors: [{ extensions: { code: 'InvalidInput' } }] } })
  expect(await ask(app.anonymous, 120 * 1024)).toMatchObject({ status: 200 })
  expect(await ask(owner, 900 * 1024)).toMatchObject({ status: 200 })
})
