import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { invalidInput } from '../support/invalid-input.ts'

let app: TestApp
let owner: Actor
let alice: Actor
beforeAll(async () => {
  app = await testApp()
  owner = await app.owner()
  alice = await app.member()
})
afterAll(() => app[Symbol.asyncDispose]())

const errors = () => app.lines.filter((line) => line.includes(' ERROR '))

it('refuses dates out of range', async () => {
  for (const from of ['+275760-09-13T00:00:00.000Z', '-000001-01-01T00:00:00Z', '0000-01-01', '1', '2026-13-01', '10000-01-01']) {
    const message = expect.stringMatching(/^from: must be a moment such as .*, not "/)
    expect(await owner.get(`/api/admin/audit-log?from=${encodeURIComponent(from)}`)).toMatchObject({
      status: 400,
      body: { error: { message } },
    })
    expect(await owner.graphql('query ($from: DateTime) { auditEntries(first: 1, from: $from) { totalCount } }', { from })).toMatchObject(
      invalidInput(message, 'from'),
    )
  }
})

it('refuses days that do not exist', async () => {
  const query = 'query ($from: DateTime) { auditEntries(first: 1, from: $from) { totalCount } }'
  for (const from of ['2026-02-30', '2026-02-29T12:00:00Z', '2026-04-31T00:00:00+02:00', '2100-02-29']) {
    const message = `from: must be on a day that the calendar has, not "${from}"`
    expect(await owner.get(`/api/admin/audit-log?from=${encodeURIComponent(from)}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringContaining(message) } },
    })
    const answer = invalidInput(expect.stringContaining(message), 'from')
    expect(await owner.graphql(query, { from })).toMatchObject(answer)
    expect(await owner.graphql(`{ auditEntries(first: 1, from: "${from}") { totalCount } }`)).toMatchObject(answer)
  }
  for (const from of ['2024-02-29', '2000-02-29T12:00:00Z', '2026-12-31T23:59:59-14:00'])
    expect(await owner.graphql(query, { from })).toMatchObject({ status: 200, body: { data: { auditEntries: {} } } })
})

it('names the field and quotes the value unless it is a secret', async () => {
  const create = (fields: object) => owner.post('/api/admin/users', { email: 'a@example.com', displayName: 'A', ...fields })
  const saying = (message: string) => ({ status: 400, body: { error: { code: 'InvalidInput', message } } })
  expect(await create({ role: 'Boss' })).toMatchObject(saying('role: must be one of admin, editor, member, viewer, not "Boss".'))
  expect(await create({ role: 5 })).toMatchObject(saying('role: must be one of admin, editor, member, viewer, not 5.'))
  expect(await create({ expiresInHours: 'many' })).toMatchObject(saying('expiresInHours: must be a whole number, not "many".'))
  expect(await create({ expiresInHours: 2 ** 40 })).toMatchObject(
    saying('expiresInHours: must be a whole number from -2147483648 to 2147483647, not 1099511627776.'),
  )
  expect(await alice.post('/api/auth/keys', { name: 'x', scopes: 'read' })).toMatchObject(saying('scopes: must be a list, not "read".'))
  const session = await alice.session()
  expect(await session.post('/oauth/approve', { request_id: 5 })).toMatchObject(saying('request_id: must be a string, not 5.'))
  const login = await app.anonymous.post('/api/auth/login', { email: 'a@example.com', password: 12_345_678 })
  expect(login).toMatchObject(saying('password: must be a string.'))
  const input = { email: 'a@example.com', displayName: 'A', role: 'Admin' }
  expect(await owner.graphql('mutation ($input: CreateUserInput!) { createUser(input: $input) { mode } }', { input })).toMatchObject(
    invalidInput('role: must be a value of AssignableRole, not "Admin".', 'role'),
  )
})

const literals: [query: string, message: string, field: string][] = [
  ['{ packages(first: "a") { totalCount } }', 'first: must be a whole number, not "a".', 'first'],
  [
    '{ packages(first: 99999999999) { totalCount } }',
    'first: must be a whole number from -2147483648 to 2147483647, not 99999999999.',
    'first',
  ],
  ['{ server { version @include(if: "yes") } }', 'if: must be true or false, not "yes".', 'if'],
  ['{ nodes(ids: ["x", true]) { id } }', 'ids[1]: must be a string, not true.', 'ids[1]'],
  ['{ package(name: null) { name } }', 'name: is required.', 'name'],
  ['{ package { name } }', 'name: is required.', 'name'],
  ['query ($first: Int = "a") { packages(first: $first) { totalCount } }', 'first: must be a whole number, not "a".', 'first'],
  ['{ auditEntries(first: 1, from: "soon") { totalCount } }', 'from: must be a moment such as 2026-01-31T12:00:00Z, not "soon"', 'from'],
  [
    'mutation { createUser(input: { email: "a@example.com", displayName: "A", role: Admin }) { mode } }',
    'role: must be a value of AssignableRole, not "Admin".',
    'role',
  ],
  [
    'mutation { createUser(input: { email: "a@example.com", displayName: "A", role: "ADMIN" }) { mode } }',
    'role: must be a value of AssignableRole, written without quotes, not "ADMIN".',
    'role',
  ],
  ['mutation { createUser(input: { email: "a@example.com", role: VIEWER }) { mode } }', 'displayName: is required.', 'displayName'],
  [
    'mutation { login(input: { email: "a@example.com", password: "secret", pasword: "secret" }) { user { id } } }',
    'pasword: is not a known field. Did you mean "password"?',
    'pasword',
  ],
  ['mutation { login(input: { email: "a@example.com", password: 12345678 }) { user { id } } }', 'password: must be a string.', 'password'],
  ['mutation { createUser(input: 5) { mode } }', 'input: Expected value of type "CreateUserInput" to be an object.', 'input'],
]

it.each(literals)('names the argument of an invalid literal in a query: %s', async (query, message, field) => {
  expect(await owner.graphql(query)).toMatchObject(invalidInput(message, field))
  // The second request uses the cache of validated queries.
  expect(await owner.graphql(query)).toMatchObject(invalidInput(message, field))
  expect(errors()).toEqual([])
})

it.each(['variables', 'extensions'])('names the query parameter that is not valid JSON: %s', async (name) => {
  app.lines.length = 0
  for (const text of ['x', '{', "{'first': 1}"])
    for (const sent of [`${name}=${encodeURIComponent(text)}`, `${name}={}&${name}=${encodeURIComponent(text)}`])
      expect(await alice.get(`/graphql?query={server{version}}&${sent}`)).toMatchObject(invalidInput(`${name}: is not valid JSON.`))
  for (const sent of [name, `${name}=`, `${name}={}`])
    expect(await alice.get(`/graphql?query={server{version}}&${sent}`)).toMatchObject({ status: 200, body: { data: {} } })
  expect(errors()).toEqual([])
})

it('refuses filters longer than any name before querying the database', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const long = 'x'.repeat(60_000)
  for (const [field, name] of [
    ['users', 'query'],
    ['users', 'email'],
    ['managedPackages', 'q'],
    ['reservedNames', 'q'],
    ['confusableNames', 'q'],
    ['publishers', 'query'],
  ]) {
    const { body } = await admin.graphql(`query ($text: String) { ${field}(first: 1, ${name}: $text) { totalCount } }`, { text: long })
    expect(body.errors[0]).toMatchObject({
      message: `${name}: must be at most 200 characters long`,
      extensions: { code: 'InvalidInput', field: name },
    })
  }
})
