import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { makeToken } from '../factories.ts'

const keys = '/api/auth/keys'
const works = async (app: TestApp, secret: string): Promise<number> => (await app.withToken(secret).get('/api/packages')).status
const rotate = (actor: Actor, id: string, body: object = {}) => actor.post(`${keys}/${id}/rotate`, body)
const start = new Date('2026-01-01T00:00:00Z')
const after = (hours: number): Date => new Date(start.getTime() + hours * 3_600_000)

it.each([
  [{}, 24],
  [{ overlapHours: 168 }, 168],
  [{ overlapHours: 1 }, 1],
])('keeps the previous secret working for the overlap %o', async (body, hours) => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const made = await alice.post(keys, { name: 'ci', packages: ['acme'], addresses: ['0.0.0.0/0'], expiresInDays: 90 })
  const rotated = await rotate(alice, made.body.id, body)
  const { secret, id, name, scopes, packages, addresses, createdAt, expiresAt } = made.body
  const same = { id, name, scopes, packages, addresses, createdAt, expiresAt }
  expect(rotated).toMatchObject({ status: 200, body: { ...same, previousSecretExpiresAt: after(hours).toISOString() } })
  expect(rotated.body.secret).toMatch(/^svc_pat_/)
  expect(rotated.body.secret).not.toBe(secret)
  expect(rotated.body.prefix).toBe(rotated.body.secret.slice(0, 12))
  const read = async (one: string) => (await app.withToken(one).get('/api/packages/acme')).status
  expect([await read(secret), await read(rotated.body.secret)]).toEqual([404, 404])
  app.clock.now = new Date(after(hours).getTime() - 1)
  expect(await read(secret)).toBe(404)
  app.clock.now = after(hours)
  expect([await read(secret), await read(rotated.body.secret)]).toEqual([401, 404])
  const [listed] = (await alice.get(keys)).body.keys
  expect(listed).toMatchObject({ id: made.body.id, prefix: rotated.body.prefix })
  expect(JSON.stringify(listed)).not.toContain(secret)
})

it('ends the previous secret at once without an overlap, and rejects other overlaps', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body } = await alice.post(keys, { name: 'ci' })
  for (const overlapHours of [-1, 169, 1.5, 'a day'])
    expect(await rotate(alice, body.id, { overlapHours })).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  expect(await works(app, body.secret)).toBe(200)
  const rotated = await rotate(alice, body.id, { overlapHours: 0 })
  expect([await works(app, body.secret), await works(app, rotated.body.secret)]).toEqual([401, 200])
  const answer = await alice.graphql('{ viewer { tokens(first: 1) { nodes { name previousSecretExpiresAt } } } }')
  expect(answer.body.data.viewer.tokens.nodes).toEqual([{ name: 'ci', previousSecretExpiresAt: null }])
})

it('keeps only the last previous secret', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body } = await alice.post(keys, { name: 'ci' })
  const second = (await rotate(alice, body.id)).body.secret
  const third = (await rotate(alice, body.id)).body.secret
  expect([await works(app, body.secret), await works(app, second), await works(app, third)]).toEqual([401, 200, 200])
})

it('loses no secret when a token is rotated several times at once', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body } = await alice.post(keys, { name: 'ci' })
  const answers = await Promise.all(Array.from({ length: 5 }, () => rotate(alice, body.id)))
  const won = answers.filter(({ status }) => status === 200)
  expect(won.length).toBeGreaterThan(0)
  for (const { status, body: answer } of answers.filter((one) => !won.includes(one)))
    expect({ status, code: answer.error.code }).toEqual({ status: 409, code: 'Conflict' })
  const statuses = await Promise.all(won.map((one) => works(app, one.body.secret)))
  expect(statuses.filter((status) => status === 200).length).toBe(Math.min(2, won.length))
})

it('ends both secrets when the token is revoked, by id or by either secret', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const revocations: ((id: string, old: string, current: string) => Promise<unknown>)[] = [
    (id) => alice.delete(`${keys}/${id}`),
    (_id, old) => app.anonymous.post('/api/tokens/revoke', { secret: old }),
    (_id, _old, current) => app.anonymous.post('/api/tokens/revoke', { secret: current }),
  ]
  for (const revoke of revocations) {
    const { body } = await alice.post(keys, { name: 'ci' })
    const current = (await rotate(alice, body.id)).body.secret
    await revoke(body.id, body.secret, current)
    expect([await works(app, body.secret), await works(app, current)]).toEqual([401, 401])
    expect(await rotate(alice, body.id)).toMatchObject({ status: 404 })
  }
})

it('does not revoke a token by a secret that has stopped working', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body } = await alice.post(keys, { name: 'ci' })
  const current = (await rotate(alice, body.id, { overlapHours: 0 })).body.secret
  expect(await app.anonymous.post('/api/tokens/revoke', { secret: body.secret })).toMatchObject({ status: 200 })
  expect(await works(app, current)).toBe(200)
})

it('keeps the expiry, or sets it within what creating a token allows', async () => {
  await using app = await testApp({ now: start, env: { TOKEN_MAX_DAYS: '90' } })
  const alice = await app.member()
  const browser = await alice.session()
  const day = (days: number) => after(days * 24).toISOString()
  const { body } = await browser.post(keys, { name: 'ci', expiresInDays: 30 })
  app.clock.now = after(24)
  const fresh = await alice.session()
  expect(await rotate(fresh, body.id)).toMatchObject({ status: 200, body: { expiresAt: day(30) } })
  expect(await rotate(fresh, body.id, { expiresInDays: 60 })).toMatchObject({ status: 200, body: { expiresAt: day(61) } })
  expect(await rotate(fresh, body.id, { expiresInDays: 91 })).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  // A token from before the maximum gets an expiry.
  const secret = await makeToken(app.services, alice.id)
  const [{ id }] = (await fresh.get(keys)).body.keys.filter(({ prefix }: { prefix: string }) => secret.startsWith(prefix))
  expect(await rotate(fresh, id)).toMatchObject({ status: 200, body: { expiresAt: day(91) } })
  app.clock.now = after(62 * 24)
  expect(await rotate(await alice.session(), body.id)).toMatchObject({ status: 409, body: { error: { code: 'Conflict' } } })
})

it('allows a token to rotate itself and the tokens that were created with it, and no others', async () => {
  await using app = await testApp()
  const [alice, bob] = [await app.member(), await app.member()]
  const browser = await alice.session()
  const create = async (actor: Actor, body: object = {}) => (await actor.post(keys, { name: 'x', ...body })).body
  const parent = await create(browser, { expiresInDays: 10 })
  const byParent = app.withToken(parent.secret)
  const child = await create(byParent)
  const grandchild = await create(app.withToken(child.secret))
  const other = await create(browser)
  for (const { id } of [child, grandchild]) expect(await rotate(byParent, id)).toMatchObject({ status: 200 })
  expect(await rotate(app.withToken(child.secret), parent.id)).toMatchObject({ status: 403 })
  // Cannot extend its own life.
  const itself = await rotate(byParent, parent.id, { expiresInDays: 30 })
  expect(itself).toMatchObject({ status: 200, body: { expiresAt: parent.expiresAt } })
  expect(await rotate(browser, child.id, { expiresInDays: 30 })).toMatchObject({ status: 200, body: { expiresAt: parent.expiresAt } })
  expect(await rotate(byParent, other.id)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  expect(await rotate(bob, other.id)).toMatchObject({ status: 404 })
  const [reader, narrowed] = [await create(browser, { scopes: ['read'] }), await create(browser, { actions: ['publish'] })]
  for (const { secret, id } of [reader, narrowed]) expect(await rotate(app.withToken(secret), id)).toMatchObject({ status: 403 })
  await browser.delete(`${keys}/${parent.id}`)
  expect(await works(app, itself.body.secret)).toBe(401)
})

it('requires recent proof for a token with the scope admin, and records the rotation', async () => {
  await using app = await testApp({ now: start })
  const admin = await app.admin({ displayName: 'Ada' })
  const browser = await admin.session()
  const { body } = await browser.post(keys, { name: 'ops', scopes: ['admin'] })
  app.clock.now = after(1)
  expect(await rotate(browser, body.id)).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringContaining('Confirm your password') } },
  })
  await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })
  expect(await rotate(browser, body.id)).toMatchObject({ status: 200 })
  const [entry] = (await admin.get('/api/admin/audit-log?kind=token.rotated')).body.entries
  expect(entry.summary).toBe('Ada rotated the secret of the token "ops"; the previous one works until 2026-01-02T01:00:00.000Z')
})

it('records uses of both secrets, and costs a read with the new one as many statements as before', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const { body } = await alice.post(keys, { name: 'ci' })
  const current = (await rotate(alice, body.id)).body.secret
  for (const [minutes, secret] of [
    [5, body.secret],
    [10, current],
  ] as const) {
    app.clock.now = after(minutes / 60)
    await works(app, secret)
    await expect.poll(async () => (await alice.get(keys)).body.keys[0].lastUsedAt).toBe(after(minutes / 60).toISOString())
  }
  const plain = await makeToken(app.services, alice.id)
  for (const secret of [plain, current]) await works(app, secret)
  const count = (secret: string) => app.countQueries(() => works(app, secret))
  expect(await count(current)).toBe(await count(plain))
})
