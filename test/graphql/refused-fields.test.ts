import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { fieldsOf, selectionsOf } from '../support/field-selections.ts'
import { publish } from '../support/publish.ts'

type Refused = { message?: string; path: unknown[]; extensions: { code: string } }

/** Sends each root field of Query next to another one. Returns the fields that were refused, with the code of the error. */
async function rejectedFields(actor: Actor, newAddress: () => string): Promise<Map<string, string>> {
  const refused = new Map<string, string>()
  for (const field of fieldsOf('Query')) {
    const [selection = ''] = selectionsOf(field, ['Package', 'PackageVersion', 'User', 'Publisher'])
    const { body } = await actor.graphql(`{ other: server { version } ${selection} }`, {}, { ip: newAddress() })
    const seen = { field: field.name, data: body.data }
    expect(seen).toMatchObject({ data: { other: { version: expect.any(String) } } })
    for (const { path, extensions } of (body.errors ?? []) as Refused[]) {
      const value = path.reduce<unknown>((parent, name) => (parent as Record<string, unknown>)[String(name)], body.data)
      expect({ ...seen, path, value }).toMatchObject({ path: [field.name, ...path.slice(1)], value: null })
      // An object can be open, and some of its fields not.
      if (path.length === 1) refused.set(field.name, extensions.code)
    }
  }
  return refused
}

it('answers the other fields of a query if callers may not read one', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const ofAnonymous = await rejectedFields(app.anonymous, app.address)
  for (const name of ['me', 'packages', 'searchPackages', 'users', 'auditEntries', 'packageNames'])
    expect([name, ofAnonymous.get(name)]).toEqual([name, 'MissingAuthentication'])
  const ofViewer = await rejectedFields(await app.viewer(), app.address)
  for (const name of ['users', 'auditEntries', 'jobs', 'serverStatistics', 'scoringSettings', 'sdkInstalls'])
    expect([name, ofViewer.get(name)]).toEqual([name, 'InsufficientPermissions'])
  for (const name of ['me', 'packages', 'searchPackages', 'packageNames', 'publishers']) expect(ofViewer.has(name)).toBe(false)
})

it('answers the other fields of a query if an argument of one is invalid', async () => {
  await using app = await testApp()
  const member = await app.member()
  await publish(member, { name: 'acme', version: '1.0.0' })
  for (const [wrong, code] of [
    ['wrong: packages(first: 1000) { nodes { name } }', 'InvalidInput'],
    ['wrong: packages(after: "x") { nodes { name } }', 'InvalidInput'],
    ['wrong: searchPackages(first: -1) { totalCount }', 'InvalidInput'],
    ['wrong: upgradeCheck(lock: "x") { elsewhere }', 'InvalidInput'],
  ] as const) {
    const { body } = await member.graphql(`{ ${wrong} me { email } packages(first: 5) { nodes { name } } }`)
    expect(body.data).toEqual({ wrong: null, me: { email: member.email }, packages: { nodes: [{ name: 'acme' }] } })
    expect(body.errors).toMatchObject([{ path: ['wrong'], extensions: { code } }])
  }
})

it('keeps the errors of REST endpoints', async () => {
  await using app = await testApp()
  const viewer = await app.viewer()
  for (const path of ['/api/admin/users', '/api/admin/audit-log', '/api/admin/stats', '/api/admin/sdk/installs'])
    expect(await viewer.get(path)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  for (const path of ['/api/packages', '/api/search', '/api/auth/me', '/api/publishers'])
    expect(await app.anonymous.get(path)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
  expect(await viewer.get('/api/packages?page=x')).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})
