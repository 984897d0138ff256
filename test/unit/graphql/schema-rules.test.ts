import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { statusOf } from '../../../server/errors.ts'
import { schema } from '../../../server/schema.ts'

type Field = GraphQLField<unknown, unknown>
type Input = GraphQLArgument | GraphQLInputField

const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
const objects = types.filter((type) => isObjectType(type))
const fields = objects.flatMap((type) => Object.values(type.getFields()))
const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
const current = <Some extends { deprecationReason?: string | null | undefined }>(some: readonly Some[]) =>
  some.filter(({ deprecationReason }) => !deprecationReason)
const inputs: Input[] = current<Input>([
  ...fields.flatMap(({ args }) => args),
  ...types.flatMap((type): Input[] => (isInputObjectType(type) ? Object.values(type.getFields()) : [])),
])
const namesOf = (some: readonly object[]) => some.map(String).toSorted()
const typeNameOf = (field: { type: Field['type'] | Input['type'] }) => getNamedType(field.type).name

describe('connections', () => {
  const lists = fields.filter((field) => typeNameOf(field).endsWith('Connection'))
  const connections = objects.filter(({ name }) => name.endsWith('Connection'))

  it('are read forward only', () => {
    expect(lists.length).toBeGreaterThanOrEqual(32)
    for (const { args } of lists) expect(args.map(({ name }) => name)).toEqual(expect.arrayContaining(['after', 'first']))
    expect(namesOf(inputs.filter(({ name }) => name === 'last' || name === 'before'))).toEqual([])
  })

  it('are named by their nodes, unless they have fields of their own', () => {
    for (const connection of connections) {
      const { nodes, edges, pageInfo, totalCount, ...own } = connection.getFields()
      if (!nodes || !edges || !pageInfo || !totalCount) throw new Error(`${connection.name} lacks a field`)
      const node = typeNameOf(nodes)
      const edge = getNamedType(edges.type)
      const ownOfEdge = isObjectType(edge) ? Object.keys(edge.getFields()).filter((name) => name !== 'cursor' && name !== 'node') : []
      const base = connection.name.replace(/Connection$/, '')
      expect(edge.name).toBe(`${base}Edge`)
      if (Object.keys(own).length + ownOfEdge.length === 0) expect(base).toBe(node)
      else expect([connection.name, base.startsWith(node)]).toEqual([connection.name, true])
    }
  })
})

describe('mutations', () => {
  it('return payload types', () => {
    const others = current(mutations).filter(
      ({ type }) => !isNonNullType(type) || !isObjectType(type.ofType) || !String(type).endsWith('Payload!'),
    )
    expect(namesOf(others)).toEqual([])
  })

  it('have no argument but input', () => {
    for (const { args } of current(mutations)) expect(['', 'input']).toContain(args.map(({ name }) => name).join())
  })

  it('return the ids of deleted objects', () => {
    for (const field of current(mutations).filter(({ name }) => /^delete[A-Z]/.test(name))) {
      const payload = getNamedType(field.type)
      const id = isObjectType(payload) ? payload.getFields()[`deleted${field.name.slice('delete'.length)}Id`] : undefined
      expect([field.name, String(id?.type)]).toEqual([field.name, 'ID!'])
    }
  })

  it('list the codes of their errors', () => {
    for (const { name, description } of mutations) {
      const listed = /Errors: ((?:`\w+`(?:, )?)+)\.$/.exec(description ?? '')?.[1]?.split(', ')
      expect({ name, listed }).toEqual({ name, listed: expect.arrayContaining([expect.any(String)]) })
      for (const code of listed ?? []) expect(Object.keys(statusOf)).toContain(code.slice(1, -1))
    }
  })
})

describe('arguments', () => {
  it('are called query if they filter by text', () => {
    const other = inputs.filter(({ name }) => ['filter', 'keyword', 'prefix', 'q', 'search', 'term', 'text'].includes(name))
    expect(namesOf(other)).toEqual([])
  })

  it('are called orderBy and direction if they sort', () => {
    const sorting = inputs.filter(
      ({ name, type }) => /(?:Order|Sort)$/.test(getNamedType(type).name) || /^(?:ascending|descending|order|sort)/.test(name),
    )
    expect(new Set(sorting.map(({ name }) => name))).toEqual(new Set(['orderBy']))
    for (const { type } of sorting) expect(isEnumType(getNamedType(type))).toBe(true)
    for (const input of inputs.filter((one) => typeNameOf(one) === 'OrderDirection')) expect(input.name).toBe('direction')
  })

  it('include the direction of every list with a choice of orders, and of lists by time', () => {
    const feeds = ['watchedVersions']
    const sorted = fields.filter(
      ({ args, description, type }) =>
        args.some(({ name }) => name === 'orderBy') ||
        (String(type).endsWith('Connection') && /newest (?:entries )?first/.test(description ?? '')),
    )
    expect(sorted.length).toBeGreaterThanOrEqual(15)
    const others = sorted.filter(({ name, args }) => !feeds.includes(name) && !args.some((argument) => argument.name === 'direction'))
    expect(namesOf(others)).toEqual([])
  })

  it('name the kind of object that an id belongs to', () => {
    const others = inputs.filter((input) => ['id', 'ids', 'uuid'].includes(input.name) && typeNameOf(input) === 'ID')
    expect(namesOf(others)).toEqual(['Query.node(id:)', 'Query.nodes(ids:)', 'UserReference.uuid'])
  })

  it('refer to a user by one of several fields with an input of which exactly one is set', () => {
    const reference = schema.getType('UserReference')
    expect(isInputObjectType(reference) && reference.isOneOf && Object.keys(reference.getFields())).toEqual(['email', 'userId', 'uuid'])
    expect(namesOf(inputs.filter(({ description }) => /e-mail address or (?:plain )?(?:id|identifier)/i.test(description ?? '')))).toEqual(
      [],
    )
  })
})

describe('error codes', () => {
  it('are an enum', () => {
    const codes = schema.getType('ErrorCode')
    expect(
      isEnumType(codes) &&
        codes
          .getValues()
          .map(({ name }) => name)
          .toSorted(),
    ).toEqual(Object.keys(statusOf).toSorted())
    if (isEnumType(codes)) for (const { description } of codes.getValues()) expect(description).toMatch(/\.$/)
  })
})

type Rule = { authScopes?: unknown; skipTypeScopes?: boolean }
const ruleOf = ({ extensions }: { extensions: object }): Rule => (extensions as { pothosOptions?: Rule }).pothosOptions ?? {}

describe('fields below the root', () => {
  const roots = ['Query', 'Mutation', 'Subscription']
  const nested = objects.filter(({ name }) => !roots.includes(name)).map((type) => ({ type, fields: Object.values(type.getFields()) }))

  it('are nullable if they have a stricter rule than their parent', () => {
    const strict = nested.flatMap(({ type, fields: all }) => {
      const isMixed = ruleOf(type).authScopes !== undefined && all.some((field) => ruleOf(field).skipTypeScopes)
      return all.filter((field) => !ruleOf(field).skipTypeScopes && (isMixed || ruleOf(field).authScopes !== undefined))
    })
    const names = namesOf(strict)
    for (const name of ['affectedByDeletion', 'brokenByDeletion', 'visibilityState', 'visibilityPreview', 'uploaders'])
      expect(names).toContain(`Package.${name}`)
    expect(namesOf(strict.filter(({ type }) => isNonNullType(type)))).toEqual([])
  })
})

it('offers one field for the same thing', () => {
  const query = current(Object.values(schema.getQueryType()?.getFields() ?? {})).map(({ name }) => name)
  expect(query.filter((name) => name === 'me' || name === 'viewer')).toEqual(['viewer'])
  const names = current(mutations).map(({ name }) => name)
  expect(names.filter((name) => /^(?:re)?score.*Versions$/.test(name))).toEqual(['rescoreVersions'])
})

it('describes every type, field, argument and value', () => {
  const described = types.flatMap((type): { description?: string | null | undefined }[] => {
    if (isEnumType(type)) return [type, ...type.getValues()]
    if (isInputObjectType(type)) return [type, ...Object.values(type.getFields())]
    if (isObjectType(type) || isInterfaceType(type))
      return [type, ...Object.values(type.getFields()).flatMap((field) => [field, ...field.args])]
    return isLeafType(type) ? [] : [type]
  })
  expect(namesOf(described.filter(({ description }) => !description))).toEqual([])
})
