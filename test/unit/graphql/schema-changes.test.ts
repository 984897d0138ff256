import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BreakingChangeType,
  buildASTSchema,
  buildSchema,
  findSchemaChanges,
  getVariableValues,
  Kind,
  parse,
  validate,
  visit,
  type DirectiveNode,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../server/schema.ts'
import { examples } from '../../../web/explorer/examples.ts'

const root = join(import.meta.dirname, '../../..')
const previousRelease = readFileSync(join(import.meta.dirname, 'previous-release.graphql'), 'utf8')

/** Intended breaking changes since the previous release, as reported by the test, with their reasons. They must also be in the changelog. */
const deliberate: Record<string, string> = {}

/** Root fields of Query became nullable, so that a refused field leaves the others of a query. */
const isNowNullable = /^Field Query\.\w+ changed type from (.+)! to \1\.$/

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
    const changes = breakingChanges(previousRelease, current).filter((change) => !isNowNullable.test(change))
    expect(changes.toSorted()).toEqual(Object.keys(deliberate).toSorted())
  })

  it('documents a replacement for everything deprecated, and its removal date', () => {
    const reasons = Array.from(current.matchAll(/@deprecated(?:\(reason: "([^"]*)"\))?/g), ([, reason]) => reason)
    expect(reasons.length).toBeGreaterThan(0)
    for (const reason of reasons) expect(reason).toMatch(/^Use [^;]+; removed after \d{4}-\d\d-\d\d\.$/)
  })
})

it('accepts every query of the help pages, the explorer and the console', () => {
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
