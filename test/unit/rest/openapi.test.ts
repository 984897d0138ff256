import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NoDeprecatedCustomRule, parse, validate } from 'graphql'
import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schema } from '../../../server/schema.ts'
import { describeRoutes, openApiPath } from '../../../server/platform/rest/openapi.ts'
import { routeGroupsOf } from '../../../server/routes.ts'
import { type Access, rest } from '../../support/policy-rest.ts'

type Content = Record<string, { schema?: Record<string, unknown> }>
type Response = { $ref?: string; content?: Content }
type Operation = { operationId: string; summary: string; tags: string[]; security: object[]; responses: Record<string, Response> }
type Document = {
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Response> }
}

const routeGroups = routeGroupsOf({ UPSTREAM_URL: 'https://pub.dev' })
const routes = routeGroups.flatMap((group) => group.routes)
const root = join(import.meta.dirname, '../../..')
const document = describeRoutes(schema, routeGroups, 'https://packages.acme.dev') as Document
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
)
const contentOf = ({ $ref, content }: Response): Content =>
  ($ref ? document.components.responses[$ref.split('/').at(-1) ?? '']?.content : content) ?? {}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snug-openapi-'))
})
afterAll(() => rm(folder, { recursive: true }))

it('describes every endpoint with an existing tag', () => {
  const tags = document.tags.map(({ name }) => name)
  for (const route of routes) {
    const operation = document.paths[openApiPath(route)]?.[route.method.toLowerCase()]
    expect({ path: route.path, ...operation }).toMatchObject({ summary: expect.stringMatching(/\.$/), tags: [expect.toBeOneOf(tags)] })
  }
  expect(operations).toHaveLength(routes.length)
})

it('gives every operation a unique id', () => {
  const ids = operations.map(({ operationId }) => operationId)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

it('has a meaningful schema for every JSON response', () => {
  const isTypedMap = (described: Record<string, unknown> | undefined) =>
    Boolean((described?.additionalProperties as { type?: string } | undefined)?.type)
  const opaque = operations.flatMap(({ name, responses }) =>
    Object.entries(responses).flatMap(([status, response]) =>
      Object.entries(contentOf(response)).flatMap(([type, { schema: described }]) =>
        /[/+]json$/.test(type) &&
        !described?.properties &&
        !described?.items &&
        !described?.anyOf &&
        !described?.$ref &&
        !isTypedMap(described)
          ? [`${name} ${status}`]
          : [],
      ),
    ),
  )
  expect(opaque).toEqual([])
})

it('lists the limits of input fields', () => {
  const bodyOf = (path: string, name: string) => {
    const [operation] = operations.filter((one) => one.name === `post ${path}` || one.name === `POST ${path}`)
    const { requestBody } = operation as unknown as { requestBody: { content: Record<string, { schema: { properties: object } }> } }
    return Object.entries(requestBody.content['application/json']?.schema.properties ?? {}).find(([key]) => key === name)?.[1]
  }
  expect(bodyOf('/api/admin/users', 'expiresInHours')).toMatchObject({ type: 'integer', minimum: 1, maximum: 720 })
  expect(bodyOf('/api/admin/users', 'displayName')).toMatchObject({ type: 'string', minLength: 1, maxLength: 100 })
  expect(bodyOf('/api/auth/keys', 'expiresInDays')).toMatchObject({ type: 'integer', minimum: 1 })
})

it('lists the possible error statuses of an endpoint', () => {
  const of = (name: string) => operations.find((operation) => operation.name === name)
  const statuses = (name: string) => Object.keys(of(name)?.responses ?? {})
  expect(statuses('get /api/v1/version')).toEqual(['200', '400', '403', '500', '503', 'default'])
  expect(statuses('get /api/packages/{pkg}/options')).toEqual(['200', '400', '401', '403', '404', '429', '500', '503', 'default'])
  expect(statuses('post /api/auth/login')).toEqual(
    expect.arrayContaining(['200', '400', '401', '403', '408', '409', '413', '415', '429', '500', '503']),
  )
})

it('lists the required credentials of every operation', () => {
  const scopeOf: Record<Access, string[]> = {
    open: [],
    identity: [],
    signedIn: [],
    session: [],
    ownAccount: ['write'],
    read: ['read'],
    write: ['write'],
    admin: ['admin'],
    owner: ['admin'],
  }
  for (const route of routes) {
    const access = rest[`${route.method} ${route.path}`] ?? 'open'
    const security = document.paths[openApiPath(route)]?.[route.method.toLowerCase()]?.security
    const needed = access === 'session' ? [{ session: [] }] : [{ token: scopeOf[access] }, { session: [] }]
    expect({ path: route.path, security }).toEqual({ path: route.path, security: access === 'open' ? [] : expect.arrayContaining(needed) })
  }
  expect(document.paths['/api/packages/{pkg}/options']?.get?.security).toContainEqual({})
  expect(document.paths['/feed.atom']?.get?.security).toContainEqual({ basic: [] })
  expect(document.paths['/api/packages/versions/upload']?.post?.security).toContainEqual({ uploadKey: [] })
  expect(document.paths['/api/packages/versions/newUploadFinish']?.get?.security).toContainEqual({ uploadKey: [] })
})

it("passes Redocly's recommended rules without warnings", async () => {
  const file = join(folder, 'openapi.json')
  await writeFile(file, JSON.stringify(document))
  const redocly = join(root, 'node_modules/@redocly/cli/bin/cli.js')
  const env = { PATH: process.env.PATH, HOME: folder, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const lint = ['lint', file, '--extends', 'recommended', '--format', 'json']
  const { stdout } = await promisify(execFile)(process.execPath, [redocly, ...lint], { cwd: folder, env }).catch((failed) => failed)
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] })
})

it('generates response types that compile in strict mode', async () => {
  const types = astToString(await openapiTypes(document as unknown as OpenAPI3))
  await writeFile(join(folder, 'api.ts'), types)
  await writeFile(
    join(folder, 'use.ts'),
    `import type { operations, paths } from './api.ts'
     type Ok<Path extends keyof paths, Type extends string = 'application/json'> =
       paths[Path] extends { get: { responses: { 200: { content: Record<Type, infer Body> } } } } ? Body : never
     export const role: 'owner' | 'admin' | 'member' | 'viewer' = {} as Ok<'/api/auth/me'>['role']
     export const owner: string | null = {} as Ok<'/api/packages/{pkg}/publisher'>['publisherId']
     export const latest: string | undefined = ({} as Ok<'/api/packages/{pkg}', 'application/vnd.pub.v2+json'>).latest?.version
     export const log: string[] = ({} as Ok<'/api/admin/sdk/scoring-logs'>).entries.map(({ message }) => message)
     // @ts-expect-error -- a field that does not exist
     export const wrong = ({} as Ok<'/api/auth/me'>).nickname
     export type Pages = [operations['getDocumentationPkgVersion'], operations['getDocumentationPkgVersionPath']]`,
  )
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: [],
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
  }
  const program = ts.createProgram([join(folder, 'api.ts'), join(folder, 'use.ts')], options)
  expect(ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})

it('uses nothing deprecated in the operations of REST', () => {
  const uses = routes.flatMap((route) => {
    const { path, operation } = route.kind === 'operation' ? route : { path: route.path, operation: route.operation?.operation }
    if (operation === undefined) return []
    return validate(schema, parse(operation), [NoDeprecatedCustomRule]).map(({ message }) => `${path}: ${message}`)
  })
  expect(uses).toEqual([])
})
