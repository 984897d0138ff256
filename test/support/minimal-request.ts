import { encodeGlobalID } from '@pothos/plugin-relay'
import {
  getNamedType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  parse,
} from 'graphql'
import type { BinaryRoute, Route } from '../../server/rest/route.ts'

/** An id that nothing has. */
const nobody = '00000000-0000-7000-8000-000000000000'

/** A route's path with something in each parameter that is well-formed and does not exist. */
export function pathFor(path: string): string {
  return path
    .replace(/:(id|requestId|userId)/g, nobody)
    .replace(':pkg', 'nothing')
    .replace(':file', 'nothing-1.0.0.tar.gz')
    .replace(':version', '1.0.0')
    .replace(':email', 'stranger@example.com')
    .replace(':token', 'nothing')
    .replace('*', 'index.html')
    .replace(/newUploadFinish$|upload$/, `$&?upload_id=${nobody}`)
    .replace(/sdk\/releases$/, '$&?channel=stable')
}

/** A body with just what a route requires, so that nothing but a lack of rights refuses it. */
export function bodyFor(schema: GraphQLSchema, route: Route | BinaryRoute): unknown {
  if (route.kind === 'binary') return undefined
  const input = /\$input: (\w+)!/.exec(route.operation)?.[1]
  const type = input && schema.getType(input)
  if (!isInputObjectType(type)) return undefined
  const settled = settledFields(route)
  const fields = Object.values(type.getFields()).filter((field) => isNonNullType(field.type) && !settled.includes(field.name))
  const restName = (name: string) => Object.entries(route.names ?? {}).find(([, inner]) => inner === name)?.[0] ?? name
  return Object.fromEntries(fields.map((field) => [restName(field.name), route.ids?.[field.name] ? nobody : valueOf(field, '')]))
}

/** The input fields that are not the body's: those of the path, and those that the endpoint settles. */
export const settledFields = ({ path, names = {}, given = {} }: Route): string[] => [
  ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => names[name] ?? name),
  ...Object.keys(given),
]

type Input = { name: string; type: GraphQLInputType; extensions: object }

/** What a root field is called with: just what it requires, and at the place below `inputs` the variable `$value`. */
export function argumentsWithVariable(args: readonly Input[], inputs: readonly Input[], field: string): string {
  const [place, ...deeper] = inputs
  const given = args.filter((input) => input === place || isNonNullType(input.type) || input.name === 'first')
  return given.map((input) => `${input.name}: ${input === place ? variableIn(input, deeper) : literal(valueOf(input, field))}`).join(', ')

  function variableIn({ type }: Input, below: readonly Input[]): string {
    const inner = getNamedType(type)
    if (isInputObjectType(inner)) return `{ ${argumentsWithVariable(Object.values(inner.getFields()), below, field)} }`
    return isListType(isNonNullType(type) ? type.ofType : type) ? '[$value]' : '$value'
  }
}

/** A query for one root field with just what it requires: `Mutation.logout`. */
export function fieldQuery(schema: GraphQLSchema, path: string): string {
  const [typeName = '', name = ''] = path.split('.')
  const field = (schema.getType(typeName) as GraphQLObjectType).getFields()[name]
  if (!field) throw new Error(`There is no ${path}`)
  const wanted = field.args.filter((argument) => isNonNullType(argument.type) || argument.name === 'first')
  const given = wanted.map((argument) => `${argument.name}: ${literal(valueOf(argument, name))}`).join(', ')
  const query = `${typeName.toLowerCase()} { ${name}${given && `(${given})`}${isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'} }`
  parse(query)
  return query
}

const samples: Record<string, unknown> = {
  email: 'stranger@example.com',
  enabled: false,
  package: 'nothing',
  password: 'a fine password of theirs',
  slug: 'something-else',
  websiteUrl: 'https://example.com',
}
const byType: Record<string, unknown> = {
  String: 'something else',
  Int: 1,
  Boolean: true,
  DateTime: '2026-01-01T00:00:00Z',
  SemVer: '1.0.0',
  URL: 'https://example.com',
}

function valueOf({ name, type, extensions }: Input, field: string): unknown {
  const [owner] = ((extensions as { relayGlobalIDFor?: object[] }).relayGlobalIDFor ?? []) as { typename: string }[]
  return samples[name] ?? (owner ? encodeGlobalID(owner.typename, nobody) : sampleOf(type, field))
}

function sampleOf(type: GraphQLInputType, field: string): unknown {
  const bare = isNonNullType(type) ? type.ofType : type
  if (isListType(bare)) return [sampleOf(bare.ofType, field)]
  if (isEnumType(bare)) return new EnumValue(bare.getValues()[0]?.name ?? '')
  if (isInputObjectType(bare)) {
    const required = Object.values(bare.getFields()).filter((inner) => isNonNullType(inner.type))
    return Object.fromEntries(required.map((inner) => [inner.name, valueOf(inner, field)]))
  }
  if (bare.name === 'ID') return encodeGlobalID('User', nobody)
  return byType[bare.name]
}

/** GraphQL writes it bare, REST as a word in lower case. */
class EnumValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  toJSON = (): string => this.name.toLowerCase()
}

function literal(value: unknown): string {
  if (value instanceof EnumValue) return value.name
  if (Array.isArray(value)) return `[${value.map((one) => literal(one)).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([name, inner]) => `${name}: ${literal(inner)}`)
      .join(', ')} }`
  return JSON.stringify(value)
}
