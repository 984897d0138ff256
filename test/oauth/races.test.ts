import { expect, it } from 'vitest'
import { statuses } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { requestConsent, codeFor } from '../support/oauth.ts'

it('accepts a code once and revokes its token when it is exchanged twice concurrently', async () => {
  await using app = await testApp()
  await using instances = await twoInstances(app)
  const browser = await (await app.member()).session()
  for (let round = 0; round < interleavings; round++) {
    const given = await codeFor(browser, {}, app.address())
    const answers = await interleave(
      instances,
      round,
      instances.both.map(
        ({ anonymous }) =>
          () =>
            anonymous.post('/oauth/token', given, { ip: app.address() }),
      ),
    )
    expect(statuses(answers)).toEqual([200, 400])
    const winner = answers.find(({ status }) => status === 200)
    expect(await app.withToken(winner?.body.access_token).get('/api/auth/me')).toMatchObject({ status: 401 })
  }
  expect(await app.services.database.reads.all("select id from audit_entries where kind = 'token.reuse_detected'")).toHaveLength(
    interleavings,
  )
  expect(await app.services.database.reads.all("select id from access_tokens where name like 'CLI%'")).toHaveLength(interleavings)
})

it('accepts one of two concurrent answers of a user', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (let round = 0; round < interleavings * 2; round++) {
    const request_id = await requestConsent(browser, {}, app.address())
    const answers = await interleave(app, Math.floor(round / 2), [
      () => browser.post('/oauth/approve', { request_id }),
      () => browser.post(`/oauth/${round % 2 ? 'approve' : 'deny'}`, { request_id }),
    ])
    expect(statuses(answers)).toEqual([200, 404])
  }
})

it('issues no token to a user who is being disabled, without deadlocks', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const tokens = () => app.services.database.reads.all("select id from access_tokens where name like 'CLI%'")
  const set = (isActive: boolean) => admin.put(`/api/admin/users/${alice.id}`, { isActive })
  for (let round = 0; round < interleavings; round++) {
    const browser = await app.someone(alice.user).session()
    const given = await codeFor(browser, {}, app.address())
    const before = (await tokens()).length
    const exchange = () => app.anonymous.post('/oauth/token', given, { ip: app.address() })
    const [disabled, answer] = await interleave(app, round, [() => set(false), exchange])
    expect([200, 400]).toContain(answer?.status)
    expect(disabled?.status).toBe(200)
    expect((await tokens()).length - before).toBe(answer?.status === 200 ? 1 : 0)
    expect(await exchange()).toMatchObject({ status: 400 })
    await set(true)
    expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  }
})

/** Returns two instances on PostgreSQL. SQLite allows one instance only. */
async function twoInstances(app: TestApp) {
  const other = process.env.TEST_DB === 'postgres' ? await testApp({ sameDatabaseAs: app }) : null
  const queries = {
    get length() {
      return app.queries.length + (other?.queries.length ?? 0)
    },
  }
  return { both: [app, other ?? app], queries, [Symbol.asyncDispose]: async () => other?.[Symbol.asyncDispose]() }
}
