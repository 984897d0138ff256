import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { growingFields, publishMany } from '../support/statement-growth.ts'

/** Both tests read the same publishers. */
let app: TestApp
let member: Actor
beforeAll(async () => {
  app = await testApp()
  const owner = await app.owner()
  member = await app.member()
  for (const [index, person] of (await publishMany(app, 50, member)).entries()) {
    const slug = `team${String(index).padStart(2, '0')}`
    await owner.post('/api/publishers', { id: slug, displayName: slug })
    await owner.put(`/api/publishers/${slug}/members/${person.id}`, { role: 'admin' })
    await owner.put(`/api/publishers/${slug}/members/${member.id}`, { role: 'admin' })
    const name = `p${String(index).padStart(2, '0')}`
    await owner.put(`/api/publishers/${slug}/members/${owner.id}`, { role: 'admin' })
    await owner.put(`/api/packages/${name}/publisher`, { publisherId: slug })
  }
})
afterAll(() => app[Symbol.asyncDispose]())

it.each([
  ['User', (size: number, field: string) => `{ users(first: ${size}) { nodes { ${field} } } }`],
  ['Publisher', (size: number, field: string) => `{ publishers(first: ${size}) { nodes { ${field} } } }`],
] as const)('loads every field of %s for 50 objects with as many statements as for a few', { timeout: 900_000 }, async (type, queryOf) => {
  expect(await growingFields(app, type, { queryOf, caller: await app.admin() })).toEqual([])
  expect(await growingFields(app, type, { queryOf, caller: member, allowsErrors: true })).toEqual([])
})
