import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BreakingChangeType,
  buildASTSchema,
  buildSchema,
  findSchemaChanges,
  getVariableValues,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  parse,
  typeFromAST,
  validate,
  visit,
  type DirectiveNode,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { completeSelections } from '../../../server/platform/graphql/former-schema.ts'
import { schema } from '../../../server/schema.ts'
import { exampleNames, examplesWith } from '../../../web/explorer/examples.ts'

const root = join(import.meta.dirname, '../../..')
const previousRelease = readFileSync(join(import.meta.dirname, 'previous-release.graphql'), 'utf8')

/** Intended breaking changes since the previous release, as reported by the test, by their reasons. They must also be in the changelog. */
const deliberate: Record<string, RegExp> = {
  'A refused field leaves the fields next to it': /^Field (?!Mutation)\w+\.\w+ changed type from (.+)! to \1\.$/,
  'Lists are read forward only': /^Argument \w+\.\w+\((?:last|before):\) was removed\.$/,
  'Connections are named by their nodes': /^\w+(?:Connection|ConnectionEdge) was removed\.$/,
  'Fields return connections named by their nodes': /^Field \w+\.\w+ changed type from \w+Connection!? to \w+Connection!?\.$/,
  'Mutations return payloads': /^Field Mutation\.\w+ changed type from (?:Boolean|ID|DomainVerification)! to \w+Payload!\.$/,
  'The payload of startDomainVerification is named by the mutation': /^DomainVerification was removed\.$/,
  'Chains are objects, and nullable': /^Field Package\.brokenByDeletion changed type from \[\[String!\]!\]! to \[DependencyChain!\]\.$/,
  'Users are referred to by UserReference':
    /^Argument Query\.(?:accessTokens|sessions)\(user:\) has changed type from String to UserReference\.$/,
  'Orders have a direction': /^(?:AuditOrder was removed|Argument Query\.auditEntries\(orderBy:\) was removed)\.$/,
}

/** Reports whether something may be removed by `today` according to its deprecation reason. */
function isExpired(directives: readonly DirectiveNode[], today: string) {
  const reason = directives.find(({ name }) => name.value === 'deprecated')?.arguments?.[0]?.value
  const date = reason?.kind === Kind.STRING ? /removed after (\d{4}-\d\d-\d\d)/.exec(reason.value)?.[1] : undefined
  return date !== undefined && date < today
}

/** Returns the breaking changes between two schemas as sentences, except for removals of deprecated items whose period ended before `today`. */
function breakingChanges(before: string, after: string, today = new Date().toISOString().slice(0, 10)) {
  const unlessExpired = ({ directives = [] }: { directives?: readonly DirectiveNode[] }) =>
    isExpired(directives, today) ? null : undefined
  const promised = visit(parse(before), {
    FieldDefinition: unlessExpired,
    InputValueDefinition: unlessExpired,
    EnumValueDefinition: unlessExpired,
  })
  return findSchemaChanges(buildASTSchema(promised), buildSchema(after))
    .filter(({ type }) => Object.hasOwn(BreakingChangeType, type))
    .map(({ description }) => description)
}

describe('breaking changes', () => {
  const before = `
    type Query { old: String @deprecated(reason: "Use new; removed after 2026-04-01.") gone: String new(a: Int): Role }
    enum Role { ADMIN EDITOR @deprecated(reason: "Use ADMIN; removed after 2026-04-01.") }`

  it.each([
    ['a removed field', 'type Query { old: String new(a: Int): Role } enum Role { ADMIN EDITOR }', ['Field Query.gone was removed.']],
    [
      'an argument that is now required',
      'type Query { old: String gone: String new(a: Int!): Role } enum Role { ADMIN EDITOR }',
      ['Argument Query.new(a:) has changed type from Int to Int!.'],
    ],
    [
      'a deprecated item removed before its date',
      'type Query { gone: String new(a: Int): Role } enum Role { ADMIN }',
      ['Enum value Role.EDITOR was removed.', 'Field Query.old was removed.'],
    ],
  ])('reports %s', (_, after, expected) => {
    expect(breakingChanges(before, after, '2026-04-01').toSorted()).toEqual(expected)
  })

  it.each([
    ['a deprecated item removed after its date', 'type Query { gone: String new(a: Int): Role } enum Role { ADMIN }'],
    ['additions', 'type Query { old: Role more: Int gone: String! new(a: Int, b: Int): Role } enum Role { ADMIN EDITOR OWNER }'],
  ])('does not report %s', (_, after) => {
    expect(breakingChanges(before, after, '2026-04-02')).toEqual([])
  })
})

describe('schema.graphql', () => {
  const current = readFileSync(join(root, 'schema.graphql'), 'utf8')

  it('has only intended breaking changes since the previous release', () => {
    const changes = breakingChanges(previousRelease, current)
    expect(changes.filter((change) => !Object.values(deliberate).some((pattern) => pattern.test(change)))).toEqual([])
    for (const pattern of Object.values(deliberate)) expect(changes).toContainEqual(expect.stringMatching(pattern))
  })

  it('documents a replacement for everything deprecated, and its removal date', () => {
    const reasons = Array.from(current.matchAll(/@deprecated(?:\(reason: "([^"]*)"\))?/g), ([, reason]) => reason)
    expect(reasons.length).toBeGreaterThan(0)
    for (const reason of reasons) expect(reason).toMatch(/^Use [^;]+; removed after \d{4}-\d\d-\d\d\.$/)
  })
})

describe('documents that open pages and scripts still send', () => {
  const documents = parse(readFileSync(join(import.meta.dirname, 'previous-release-documents.graphql'), 'utf8'))

  it('are accepted if they are from the previous release', () => {
    expect(documents.definitions.length).toBeGreaterThan(150)
    expect(validate(schema, completeSelections(schema, documents))).toEqual([])
  })

  it('are accepted with all the variables of the previous release', () => {
    const former = buildSchema(previousRelease)
    for (const operation of documents.definitions) {
      if (operation.kind !== Kind.OPERATION_DEFINITION) continue
      const defined = operation.variableDefinitions ?? []
      const values = Object.fromEntries(
        defined.map(({ variable, type }) => [
          variable.name.value,
          sampleOf(typeFromAST(former, type as never) as GraphQLInputType | undefined),
        ]),
      )
      expect({ values, ...getVariableValues(schema, defined, values) }).toHaveProperty('variableValues')
    }
  })

  it('are not accepted without selections of other fields', () => {
    const document = completeSelections(schema, parse('{ package(name: "acme") }'))
    expect(validate(schema, document)).toMatchObject([{ message: expect.stringContaining('must have a selection of subfields') }])
  })
})

const samples: Record<string, unknown> = { Boolean: true, DateTime: '2026-01-01T00:00:00Z', ID: 'x', Int: 1, SemVer: '1.0.0', String: 'x' }

/** Returns a value of an input type with all fields. */
function sampleOf(type: GraphQLInputType | undefined): unknown {
  if (isNonNullType(type)) return sampleOf(type.ofType)
  if (isListType(type)) return [sampleOf(type.ofType)]
  if (isEnumType(type)) return type.getValues()[0]?.name
  if (isInputObjectType(type)) return Object.fromEntries(Object.values(type.getFields()).map((field) => [field.name, sampleOf(field.type)]))
  return samples[String(type)]
}

it('accepts every query of the help pages, the explorer and the console', () => {
  const examples = examplesWith(exampleNames(undefined))
  const pages = globSync(join(root, 'web/help/*.md')).map((file) => readFileSync(file, 'utf8'))
  const published = Array.from(pages.join('\n').matchAll(/graphql '([^']+)'/g), ([, query = '']) => query)
  const fragments = globSync(join(root, 'web/*/*.graphql')).map((file) => readFileSync(file, 'utf8'))
  expect(published.length).toBeGreaterThanOrEqual(3)
  for (const query of [...published, ...examples.map((example) => example.query), fragments.join('\n')])
    expect(validate(schema, parse(query))).toEqual([])
  for (const { query, variables = '{}' } of examples) {
    const [operation] = parse(query).definitions
    const known = operation?.kind === Kind.OPERATION_DEFINITION ? (operation.variableDefinitions ?? []) : []
    expect(getVariableValues(schema, known, JSON.parse(variables))).toHaveProperty('variableValues')
  }
})
