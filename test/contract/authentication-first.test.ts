import { afterAll, beforeAll, expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { rest } from '../support/policy-rest.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

let app: TestApp
let viewer: Actor
beforeAll(async () => {
  app = await testApp()
  viewer = await app.viewer()
})
afterAll(() => app[Symbol.asyncDispose]())

const operations = routes
  .filter(({ kind }) => kind === 'operation')
  .map(({ method, path }) => ({ method, path, access: rest[`${method} ${path}`] }))
const closed = operations.filter(({ access }) => access !== 'open')
const beyondViewers = closed.filter(({ access = '' }) => ['session', 'ownAccount', 'write', 'admin', 'owner'].includes(access))
/** Sends invalid path parameters and an empty body. */
const send = (actor: Actor, method: string, path: string) =>
  actor.send(method as 'GET', path.replaceAll(/:\w+/g, '~'), method === 'GET' ? undefined : {}, { ip: app.address() })

it.each(closed)('requires authentication for $method $path before validating the input', async ({ method, path }) => {
  expect(await send(app.anonymous, method, path)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
})

it.each(beyondViewers)('refuses insufficient permissions for $method $path before validating the input', async ({ method, path }) => {
  expect(await send(viewer, method, path)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
})

it('answers 404 for an empty id', async () => {
  const owner = await app.owner()
  for (const path of ['/api/auth/keys/', '/api/auth/sessions/', '/api/admin/users/', '/api/admin/sdk/installs/'])
    expect(await owner.delete(path)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await owner.put('/api/admin/sdk/settings', { defaultSdk: '' })).toMatchObject({
    status: 404,
    body: { error: { code: 'NotFound' } },
  })
})

it('names the query parameter that a search was refused for', async () => {
  const { status, body } = await viewer.get(`/api/search?q=${'a'.repeat(1001)}`)
  expect({ status, ...body.error }).toEqual({ status: 400, code: 'InvalidInput', message: 'q: must be at most 1000 characters long' })
})
