import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeRows } from '../../server/platform/db/statements.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { growingFields, publishMany } from '../support/statement-growth.ts'

/** All tests read the same packages. The last one makes them public. */
let app: TestApp
let uploader: Actor
beforeAll(async () => {
  app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  uploader = await app.member()
  await publishMany(app, 50, uploader)
})
afterAll(() => app[Symbol.asyncDispose]())

const lists = [
  ['Package', (size: number, field: string) => `{ packages(first: ${size}) { nodes { ${field} } } }`],
  ['PackageVersion', (size: number, field: string) => `{ packages(first: ${size}) { nodes { latest { ${field} } } } }`],
] as const

it.each(lists)(
  'loads every field of %s for 50 objects with as many statements as for a few',
  { timeout: 900_000 },
  async (type, queryOf) => {
    expect(await growingFields(app, type, { queryOf, caller: await app.admin() })).toEqual([])
    expect(await growingFields(app, type, { queryOf, caller: uploader, allowsErrors: true })).toEqual([])
  },
)

it(
  'loads every field of documents, dependencies and managed packages with as many statements as for a few',
  { timeout: 900_000 },
  async () => {
    const caller = await app.admin()
    const others = [
      [
        'PackageDocument',
        (size: number, field: string) => `{ packages(first: ${size}) { nodes { latest { readme { ${field} } changelog { ${field} } } } } }`,
      ],
      ['Dependency', (size: number, field: string) => `{ packages(first: ${size}) { nodes { latest { dependencies { ${field} } } } } }`],
      ['ManagedPackage', (size: number, field: string) => `{ managedPackages(first: ${size}) { nodes { ${field} } } }`],
      ['PackageVersion', (size: number, field: string) => `{ package(name: "p00") { versions(first: ${size}) { nodes { ${field} } } } }`],
    ] as const
    for (const [type, queryOf] of others) expect(await growingFields(app, type, { queryOf, caller })).toEqual([])
  },
)

it('loads packages for callers without an account with as many statements as a few', { timeout: 900_000 }, async () => {
  await changeRows(app.services.database.fork(), "update packages set visibility = 'public'", [])
  await (await app.admin()).put('/api/admin/public-packages', { enabled: true })
  for (const [type, queryOf] of lists)
    expect(await growingFields(app, type, { queryOf, caller: app.anonymous, ip: 'new', allowsErrors: true })).toEqual([])
})
