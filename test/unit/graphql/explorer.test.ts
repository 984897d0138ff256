import { runInNewContext } from 'node:vm'
import { buildSchema } from 'graphql'
import { expect, it } from 'vitest'
import { languages } from '../../../web/explorer/copy-as.ts'
import { exampleNames, examplesWith } from '../../../web/explorer/examples.ts'
import { jsonTokens } from '../../../web/explorer/json-tokens.ts'
import { searchSchema } from '../../../web/explorer/schema.ts'

const schema = buildSchema(`
  "A package of the registry."
  type Package {
    "Whether new versions are expected."
    isDiscontinued: Boolean!
    versions("Only versions with this text." query: String, first: Int): [String!]!
  }
  type Query {
    "Looks up a package."
    package(name: String!): Package
  }
`)
const found = (query: string) =>
  searchSchema(schema, query).map(({ type, member, argument }) => [type, member, argument].filter(Boolean).join('.'))

it('finds types, fields, arguments and descriptions, names before descriptions', () => {
  expect(found('')).toEqual([])
  expect(found('package')).toEqual(['Package', 'Query.package'])
  expect(found('first')).toEqual(['Package.versions.first'])
  expect(found('with this text')).toEqual(['Package.versions.query'])
  expect(found('versions')).toEqual(['Package.versions', 'Package.versions.query', 'Package.isDiscontinued'])
  expect(found('discontinued expected')).toEqual(['Package.isDiscontinued'])
  expect(found('__schema')).toEqual([])
})

it('splits JSON into tokens that add up to its text', () => {
  const text = String.raw`{ "a\"b": "x: \"y\"", "list": [1, -2.5e3, true, null], "empty": {} }`
  const tokens = jsonTokens(text)
  expect(tokens.map((token) => token.text).join('')).toBe(text)
  const withLook = (look: string) => tokens.filter((token) => token.look === look).map((token) => token.text)
  expect(withLook('hl-g')).toEqual([String.raw`"a\"b"`, '"list"', '"empty"'])
  expect(withLook('hl-s')).toEqual([String.raw`"x: \"y\""`])
  expect(withLook('hl-n')).toEqual(['1', '-2.5e3', 'true', 'null'])
  expect(jsonTokens(' '.repeat(300_000))).toHaveLength(1)
})

const request: Parameters<typeof languages.curl>[0] = {
  url: 'https://packages.acme.dev/graphql',
  query: 'query Q($name: String!) { package(name: $name) { name } } # it\'s `${quoted}` and \\ "escaped"',
  variables: { name: "o'neil" },
  operationName: 'Q',
}
const body = { query: request.query, variables: request.variables, operationName: 'Q' }

it('copies requests for curl, with the body in one shell argument', () => {
  const code = languages.curl(request)
  const quoted = /-d '([^]*)'$/.exec(code)?.[1] ?? ''
  expect(JSON.parse(quoted.replaceAll(String.raw`'\''`, "'"))).toEqual(body)
  expect(code).toContain('-H "Authorization: Bearer $SNUG_TOKEN"')
  expect(languages.curl({ ...request, variables: {}, operationName: undefined })).not.toMatch(/variables|operationName/)
})

it('copies requests as JavaScript that sends the same request', async () => {
  const sent: { url: string; body: string; headers: Record<string, string> }[] = []
  const fetch = async (url: string, options: { body: string; headers: Record<string, string> }) => {
    sent.push({ url, ...options })
    return { json: async () => ({}) }
  }
  const globals = { fetch, process: { env: { SNUG_TOKEN: 'secret' } }, console: { log() {} } }
  await runInNewContext(`(async () => { ${languages.fetch(request)} })()`, globals)
  expect(sent).toMatchObject([{ url: request.url, headers: { Authorization: 'Bearer secret' } }])
  expect(JSON.parse(sent[0]?.body ?? '')).toEqual(body)
})

it('copies requests as Dart, in raw strings unless the query contains their quotes', () => {
  const code = languages.Dart(request)
  expect(code).toContain(`'query': r'''${request.query}''',`)
  expect(code).toContain(`'variables': jsonDecode(r'''{"name":"o'neil"}'''),`)
  expect(code).toContain(`Bearer \${Platform.environment['SNUG_TOKEN']}`)
  expect(languages.Dart({ ...request, query: `{ a(b: "$'''") }` })).toContain(String.raw`'query': "{ a(b: \"\$'''\") }",`)
})

const listed = (name: string, ...versions: string[]) => ({
  name,
  publisher: name === 'ours' ? { slug: 'acme' } : null,
  versions: { nodes: versions.map((version) => ({ version })) },
})
const answer = (viewer: object | null, all: ReturnType<typeof listed>[]) =>
  ({ server: { queriesNeedToken: false }, viewer, searchPackages: { nodes: all } }) as unknown as Parameters<typeof exampleNames>[0]

it('takes names for examples from the packages and publishers of the reader', () => {
  const own = { packages: { nodes: [listed('mine', '2.0.0', '1.5.0')] }, memberships: [{ publisher: { slug: 'team' } }] }
  expect(exampleNames(answer(own, [listed('other', '1.0.0')]))).toEqual({
    package: 'mine',
    from: '1.5.0',
    to: '2.0.0',
    publisher: 'team',
    note: 'The examples use your package mine and the publisher team.',
  })
  const none = { packages: { nodes: [] }, memberships: [] }
  expect(exampleNames(answer(none, [listed('single', '1.0.0'), listed('ours', '3.0.0', '2.0.0')]))).toMatchObject({
    package: 'ours',
    publisher: 'acme',
    note: 'The examples use the package ours and the publisher acme.',
  })
  expect(exampleNames(undefined).note).toContain('You see no packages yet')
  const search = examplesWith(exampleNames(answer(own, []))).find(({ title }) => title === 'Search packages')
  expect(JSON.parse(search?.variables ?? '')).toMatchObject({ query: 'mine' })
})
