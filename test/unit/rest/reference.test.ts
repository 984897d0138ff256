import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { expect, it } from 'vitest'
import { describeRoutes } from '../../../server/platform/rest/openapi.ts'
import { routeGroupsOf } from '../../../server/routes.ts'
import { schema } from '../../../server/schema.ts'
import { exampleOf, fieldsOf, type OpenApi, typeText } from '../../../web/reference/openapi.ts'
import { filterGroups, groupsOf, type Operation } from '../../../web/reference/reference.ts'

const routeGroups = routeGroupsOf({ UPSTREAM_URL: 'https://pub.dev' })
const routes = routeGroups.flatMap((group) => group.routes)
const server = 'https://packages.acme.dev'
const document = describeRoutes(schema, routeGroups, server) as unknown as OpenApi
const groups = groupsOf(document)
const operations = groups.flatMap((group) => group.operations)
const operationAt = (method: string, path: string): Operation | undefined =>
  operations.find((one) => one.method === method && one.path === path)

it('lists every endpoint of the API once, in groups', () => {
  expect(operations).toHaveLength(routes.length)
  expect(new Set(operations.map(({ id }) => id)).size).toBe(routes.length)
  expect(new Set(groups.map(({ id }) => id)).size).toBe(routeGroups.length)
})

it('shows for each endpoint an example whose URL belongs to it', () => {
  const router = findMyWay({ maxParamLength: 512 })
  for (const route of routes) router.on(route.method, route.path, () => {}, route)
  for (const { method, path, curl } of operations) {
    const url = new URL(/"(https:[^"]+)"/.exec(curl)?.[1] ?? '')
    const stored = router.find(method as HTTPMethod, url.pathname)?.store as { path: string } | undefined
    expect(stored?.path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}'), curl).toBe(path)
    expect(curl.includes(`-X ${method}`)).toBe(method !== 'GET')
  }
})

it('shows examples of JSON bodies that the schemas accept', () => {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
  const bodies = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ requestBody }) => requestBody?.content['application/json']?.schema ?? []),
  )
  expect(bodies.length).toBeGreaterThan(50)
  for (const body of bodies) {
    const validate = ajv.compile(body)
    expect([validate(exampleOf(body)), validate.errors, exampleOf(body)]).toEqual([true, null, expect.anything()])
  }
})

it('describes access, fields, responses and errors of an endpoint', () => {
  expect(operationAt('POST', '/api/auth/keys')).toMatchObject({
    access: 'Needs a token with the scope WRITE.',
    body: { types: 'application/json', fields: expect.arrayContaining([expect.objectContaining({ name: 'name', isRequired: true })]) },
    responses: [
      {
        status: '201',
        fields: expect.arrayContaining([expect.objectContaining({ name: 'expiresAt', type: 'string (date-time) or null' })]),
      },
    ],
    errors: expect.arrayContaining([expect.objectContaining({ status: '403', codes: ['InsufficientPermissions', 'CsrfMismatch'] })]),
  })
  expect(operationAt('GET', '/api/v1/health')?.access).toBe('Works without authentication.')
  expect(operationAt('POST', '/api/auth/logout')?.access).toBe('Needs a session of the console.')
  expect(operationAt('GET', '/api/packages/{pkg}')?.access).toMatch(/^Needs a token with the scope READ, or nothing for public packages\./)
})

it('names the codes of every error, except those of endpoints whose errors have none', () => {
  const unnamed = operations.flatMap(({ method, path, errors }) =>
    errors.filter(({ codes }) => codes.length === 0).map(({ status }) => `${method} ${path} ${status}`),
  )
  expect(unnamed).toEqual(['GET /api/v1/health 503', 'GET /oauth/authorize 400'])
  expect(operationAt('POST', '/oauth/token')?.errors[0]?.codes).toContain('invalid_grant')
})

it('describes types and the properties of inner objects', () => {
  const list = { type: 'array', items: { type: 'object', properties: { at: { type: ['string', 'null'], format: 'date-time' } } } }
  expect(typeText(list)).toBe('object[]')
  expect(fieldsOf({ type: 'object', properties: { list }, additionalProperties: { type: 'integer', maximum: 3 } })).toMatchObject([
    { name: 'list', depth: 0, type: 'object[]' },
    { name: 'at', depth: 1, type: 'string (date-time) or null' },
    { name: '*', depth: 0, type: 'integer', limits: '0 to 3.' },
  ])
  expect(fieldsOf({ anyOf: [{ properties: { role: { type: 'string', enum: ['a', 'b'] } } }, { type: 'null' }] })).toMatchObject([
    { name: 'role', limits: 'One of a, b.' },
  ])
})

it('filters endpoints by all words, in paths, descriptions, fields and errors', () => {
  const found = (query: string) =>
    filterGroups(groups, query).flatMap((group) => group.operations.map(({ method, path }) => `${method} ${path}`))
  expect(found('')).toHaveLength(routes.length)
  expect(found('retract')).toContain('PUT /api/packages/{pkg}/versions/{version}/options')
  expect(found('DELETE uploaders')).toEqual(['DELETE /api/packages/{pkg}/uploaders/{email}'])
  expect(found('invalid_grant')).toContain('POST /oauth/token')
  expect(found('no such words')).toEqual([])
})
