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
import type { BinaryRoute, Route } from '../../server/platform/rest/route.ts'

/** Id that does not exist. */
const unknownId = '00000000-0000-7000-8000-000000000000'

/** Returns the path of a route with valid values that do not exist for its parameters. */
export function pathFor(path: string): string {
  return path
    .replace(/:(id|requestId|userId)/g, unknownId)
    .replace(/:(pkg|name)/, 'nothing')
    .replace(/:(file|archive)/, 'nothing-1.0.0.tar.gz')
    .replace(':version', '1.0.0')
    .replace(':email', 'stranger@example.com')
    .replace(':token', 'nothing')
    .replace('*', 'index.html')
    .replace(/newUploadFinish$|upload$/, `$&?upload_id=${unknownId}`)
    .replace(/sdk\/releases$/, '$&?channel=stable')
}

/** Returns a body with the required fields of a route, so that only missing permissions can cause a refusal. */
export function bodyFor(schema: GraphQLSchema, route: Route | BinaryRoute): unknown {
  if (route.kind === 'binary') return undefined
  const input = /\$input: (\w+)!/.exec(route.operation)?.[1]
  const type = input && schema.getType(input)
  if (!isInputObjectType(type)) return undefined
  const settled = settledFields(route)
  const fields = Object.values(type.getFields()).filter((field) => isRequired(field) && !settled.includes(field.name))
  const restName = (name: string) => Object.entries(route.names ?? {}).find(([, inner]) => inner === name)?.[0] ?? name
  return Object.fromEntries(fields.map((field) => [restName(field.name), route.ids?.[field.name] ? unknownId : valueOf(field, '')]))
}

/** Returns the input fields that are not part of the body: path parameters and values fixed by the endpoint. */
export const settledFields = ({ path, names = {}, fixedInput = {} }: Route): string[] => [
  ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => names[name] ?? name),
  ...Object.keys(fixedInput),
]

type Input = { name: string; type: GraphQLInputType; extensions: object }

/** Whether a value is required, also where a former name keeps the type nullable. */
export const isRequired = ({ type, extensions }: Omit<Input, 'name'>): boolean =>
  isNonNullType(type) || (extensions as { isRequired?: boolean }).isRequired === true

/** Returns the arguments of a root field: the required ones, and the variable `$value` at the input path `inputs`. */
export function argumentsWithVariable(args: readonly Input[], inputs: readonly Input[], field: string): string {
  const [place, ...deeper] = inputs
  const given = args.filter((input) => input === place || isRequired(input) || input.name === 'first')
  return given.map((input) => `${input.name}: ${input === place ? variableIn(input, deeper) : literal(valueOf(input, field))}`).join(', ')

  function variableIn({ type }: Input, below: readonly Input[]): string {
    const inner = getNamedType(type)
    if (isInputObjectType(inner)) return `{ ${argumentsWithVariable(Object.values(inner.getFields()), below, field)} }`
    return isListType(isNonNullType(type) ? type.ofType : type) ? '[$value]' : '$value'
  }
}

/** Returns a query for a root field such as `Mutation.logout` with its required arguments. */
export function fieldQuery(schema: GraphQLSchema, path: string): string {
  const [typeName = '', name = ''] = path.split('.')
  const field = (schema.getType(typeName) as GraphQLObjectType).getFields()[name]
  if (!field) throw new Error(`There is no ${path}`)
  const wanted = field.args.filter((argument) => isRequired(argument) || argument.name === 'first')
  const given = wanted.map((argument) => `${argument.name}: ${literal(valueOf(argument, name))}`).join(', ')
  const query = `${typeName.toLowerCase()} { ${name}${given && `(${given})`}${isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'} }`
  parse(query)
  return query
}

const samples: Record<string, unknown> = {
  email: 'stranger@example.com',
  enabled: false,
  issuer: 'https://login.example.com',
  package: 'nothing',
  packageName: 'nothing',
  password: 'a fine password of theirs',
  rule: 'packages',
  slug: 'something-else',
  websiteUrl: 'https://example.com',
  issuerUrl: 'https://example.com',
}
const byType: Record<string, unknown> = {
  String: 'something else',
  Int: 1,
  JSON: {},
  Boolean: true,
  DateTime: '2026-01-01T00:00:00Z',
  SemVer: '1.0.0',
  URL: 'https://example.com',
}

function valueOf({ name, type, extensions }: Input, field: string): unknown {
  const [owner] = ((extensions as { relayGlobalIDFor?: object[] }).relayGlobalIDFor ?? []) as { typename: string }[]
  return samples[name] ?? (owner ? encodeGlobalID(owner.typename, unknownId) : sampleOf(type, field))
}

function sampleOf(type: GraphQLInputType, field: string): unknown {
  const bare = isNonNullType(type) ? type.ofType : type
  if (isListType(bare)) return [sampleOf(bare.ofType, field)]
  if (isEnumType(bare)) return new EnumValue(bare.getValues()[0]?.name ?? '')
  if (isInputObjectType(bare)) {
    const required = Object.values(bare.getFields()).filter((inner) => isRequired(inner))
    return Object.fromEntries(required.map((inner) => [inner.name, valueOf(inner, field)]))
  }
  if (bare.name === 'ID') return encodeGlobalID('User', unknownId)
  return byType[bare.name]
}

/** Enum value. GraphQL literals write its name, REST bodies its name in lower case. */
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
