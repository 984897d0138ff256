import { expect, it } from 'vitest'
import { statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { adminJson } from '../support/admin.ts'
import { addPasskey, Authenticator, browserOf, type Deviation, prove, signInWith } from '../support/authenticator.ts'

const start = new Date('2026-01-01T12:00:00Z')
const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)

it('adds, lists, renames and removes passkeys', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const browser = await alice.session()
  expect((await browser.get('/api/auth/passkeys')).body).toEqual({ passkeys: [] })
  const options = await browser.post('/api/auth/passkeys/options')
  expect(options).toMatchObject({
    status: 200,
    body: {
      rp: { id: 'localhost' },
      user: { name: alice.email, displayName: 'Alice' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
    },
  })
  await addPasskey(browser, 'Laptop')
  const phone = await addPasskey(browser, 'Phone')
  const listed = (await browser.get('/api/auth/passkeys')).body.passkeys
  expect(listed).toMatchObject([
    { name: 'Laptop', lastUsedAt: null, status: 'active' },
    { name: 'Phone', lastUsedAt: null, status: 'active' },
  ])
  const excluded = (await browser.post('/api/auth/passkeys/options')).body.excludeCredentials
  expect(excluded).toEqual(expect.arrayContaining([expect.objectContaining({ id: phone.credentialId, type: 'public-key' })]))
  const renamed = await browser.patch(`/api/auth/passkeys/${listed[0].id}`, { name: 'Work laptop' })
  expect(renamed).toMatchObject({ status: 200, body: { name: 'Work laptop' } })
  expect(await browser.delete(`/api/auth/passkeys/${listed[0].id}`)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect((await browser.get('/api/auth/passkeys')).body.passkeys).toMatchObject([{ name: 'Phone' }])
  const log = JSON.stringify((await (await app.admin()).get('/api/admin/audit-log')).body)
  for (const done of ['added the passkey', 'renamed the passkey', 'removed the passkey']) expect(log).toContain(`Alice ${done}`)
})

const deviations: Record<string, Deviation> = {
  'another origin': { origin: 'https://localhost:8080' },
  'a frame in a page of another site': { crossOrigin: true },
  'another domain': { rpId: 'evil.example' },
  'a missing user verification': { userVerified: false },
  'another challenge': { challenge: 'B'.repeat(43) },
  'a signed challenge': { type: 'webauthn.get' },
}

it.each(Object.entries(deviations))('refuses to add a passkey with %s', async (_name, deviation) => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const { body } = await browser.post('/api/auth/passkeys/options')
  const credential = new Authenticator().create(body, deviation)
  expect(await browser.post('/api/auth/passkeys', { name: 'Laptop', credential })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
  expect((await browser.get('/api/auth/passkeys')).body).toEqual({ passkeys: [] })
})

it('accepts the options of a registration once, for five minutes, and only in their session', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const [browser, other, bob] = [await alice.session(), await alice.session(), await (await app.member()).session()]
  const add = async (session: typeof browser, options: object, authenticator = new Authenticator()) =>
    (await session.post('/api/auth/passkeys', { name: 'Laptop', credential: authenticator.create(options as never) })).status
  const { body: first } = await browser.post('/api/auth/passkeys/options')
  expect(await add(other, first)).toBe(400)
  expect(await add(bob, first)).toBe(400)
  expect(await add(browser, first)).toBe(201)
  expect(await add(browser, first)).toBe(400)
  const { body: late } = await browser.post('/api/auth/passkeys/options')
  app.clock.now = after(301)
  expect(await add(browser, late)).toBe(400)
  // A challenge for a proof adds nothing.
  const { body: proof } = await browser.post('/api/auth/passkey/proof-options')
  expect(await add(browser, { ...proof, rp: { id: 'localhost' }, user: { id: 'eA' } })).toBe(400)
})

it.each(['', ' ', 'a'.repeat(101), 'line\nbreak'])('refuses the name %j', async (name) => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const { body } = await browser.post('/api/auth/passkeys/options')
  expect(await browser.post('/api/auth/passkeys', { name, credential: new Authenticator().create(body) })).toMatchObject({ status: 400 })
})

it('refuses values that are not a response of a browser', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (const credential of [
    'text',
    1,
    [],
    null,
    {},
    { id: 'x' },
    { id: 'x', rawId: 'x', type: 'public-key', response: { clientDataJSON: 'e30', attestationObject: 'AA' } },
  ])
    expect(await browser.post('/api/auth/passkeys', { name: 'Laptop', credential })).toMatchObject({ status: 400 })
})

it('refuses a passkey that is registered already, also by another account', async () => {
  await using app = await testApp()
  const [alice, bob] = [await (await app.member()).session(), await (await app.member()).session()]
  const passkey = await addPasskey(alice)
  for (const session of [alice, bob]) {
    const { body } = await session.post('/api/auth/passkeys/options')
    expect(await session.post('/api/auth/passkeys', { name: 'Again', credential: passkey.create(body) })).toMatchObject({ status: 409 })
  }
})

it('allows 20 passkeys, also when the last ones are added at the same moment', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (let count = 0; count < 18; count++) await addPasskey(browser, `Key ${count}`)
  const options = await Promise.all(Array.from({ length: 4 }, () => browser.post('/api/auth/passkeys/options')))
  const add = ({ body }: (typeof options)[number]) =>
    browser.post('/api/auth/passkeys', { name: 'Last', credential: new Authenticator().create(body) })
  expect(statuses(await Promise.all(options.map(add)))).toEqual([201, 201, 409, 409])
  expect(await browser.post('/api/auth/passkeys/options')).toMatchObject({ status: 409 })
})

it('hides passkeys of other users, and needs a session to change them', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await addPasskey(await alice.session())
  const [{ id }] = (await alice.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  const ofBob = await bob.session()
  expect(await ofBob.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 404 })
  expect(await ofBob.patch(`/api/auth/passkeys/${id}`, { name: 'Mine' })).toMatchObject({ status: 404 })
  expect(await alice.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 403 })
  const query = '{ user(by: { uuid: "ID" }) { hasTotp hasSecondFactor recoveryCodesLeft passkeys { id name } } }'.replace('ID', alice.id)
  const seen = (await admin.graphql(query)).body.data.user
  expect(seen).toMatchObject({ hasTotp: false, hasSecondFactor: true, recoveryCodesLeft: 0, passkeys: [{ name: 'Laptop' }] })
  const node = `{ node(id: "${seen.passkeys[0].id}") { ... on Passkey { name } } }`
  expect((await ofBob.graphql(node)).body.data.node).toBeNull()
  expect((await admin.graphql(node)).body.data.node).toEqual({ name: 'Laptop' })
})

it('filters users by their second factor', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await addPasskey(await alice.session())
  const emails = async (has: boolean) => {
    const { body } = await admin.graphql(`{ users(first: 10, hasSecondFactor: ${has}) { totalCount nodes { email } } }`)
    return body.data.users.nodes.map(({ email }: { email: string }) => email)
  }
  expect(await emails(true)).toEqual([alice.email])
  expect(await emails(false)).toEqual(expect.arrayContaining([bob.email, admin.email]))
  expect(await emails(false)).not.toContain(alice.email)
})

it('confirms who the user is with a passkey, in place of the password', async () => {
  await using app = await testApp({ now: start })
  const browser = await (await app.member()).session()
  const passkey = await addPasskey(browser)
  app.clock.now = after(700)
  expect(await browser.post('/api/auth/passkeys/options')).toMatchObject({ status: 403 })
  expect(await prove(browser, passkey)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await browser.post('/api/auth/passkeys/options')).toMatchObject({ status: 200 })
})

it('refuses proofs of other users, other sessions and other purposes', async () => {
  await using app = await testApp({ now: start })
  const [alice, bob] = [await app.member(), await app.member()]
  const [browser, other, ofBob] = [await alice.session(), await alice.session(), await bob.session()]
  const [passkey, bobs] = [await addPasskey(browser), await addPasskey(ofBob)]
  const refused = { status: 400, body: { error: { code: 'InvalidInput' } } }
  expect(await prove(browser, bobs)).toMatchObject(refused)
  for (const deviation of [
    { userVerified: false },
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { crossOrigin: true, rpId: 'x' },
  ])
    expect(await prove(browser, passkey, deviation)).toMatchObject(refused)
  const { body } = await browser.post('/api/auth/passkey/proof-options')
  expect(await other.post('/api/auth/passkey/proof', { credential: passkey.get(body) })).toMatchObject(refused)
  const { body: registration } = await browser.post('/api/auth/passkeys/options')
  const crossed = { challenge: registration.challenge, rpId: 'localhost' }
  expect(await browser.post('/api/auth/passkey/proof', { credential: passkey.get(crossed) })).toMatchObject(refused)
  expect(await prove(browser, passkey)).toMatchObject({ status: 200 })
  expect(await prove(browser, passkey, { counter: 1 })).toMatchObject(refused)
  expect(await browser.post('/api/auth/passkey/proof-options')).toMatchObject({ status: 409 })
})

it('keeps the only way to sign in', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const passkey = await addPasskey(await alice.session())
  await app.services.database.fork().getConnection().execute(`update users set password_hash = null where id = '${alice.id}'`)
  const browser = browserOf(app, alice.user, await signInWith(app, passkey))
  const [{ id }] = (await browser.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  expect(await browser.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 409, body: { error: { code: 'Conflict' } } })
  await addPasskey(browser, 'Phone')
  const answers = await Promise.all(
    ((await browser.get('/api/auth/passkeys')).body.passkeys as { id: string }[]).map((one) =>
      browser.delete(`/api/auth/passkeys/${one.id}`),
    ),
  )
  expect(statuses(answers)).toEqual([200, 409])
})

it('shows passkeys of another address of the server as void, and does not accept them', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const passkey = await addPasskey(await alice.session())
  await app.stop()
  await using moved = await testApp({ sameDatabaseAs: app, config: { SERVER_URL: 'https://pub.example.com' } })
  const there = alice.at(moved)
  expect((await there.get('/api/auth/passkeys')).body.passkeys).toMatchObject([{ status: 'void' }])
  expect((await there.graphql('{ viewer { hasSecondFactor } }')).body.data.viewer).toEqual({ hasSecondFactor: false })
  const answer = await signInWith(moved, passkey, { origin: 'https://pub.example.com' })
  expect(answer).toMatchObject({ status: 401 })
  const items = (await (await moved.admin()).graphql('{ attention { kind count } }')).body.data.attention
  expect(items).toContainEqual({ kind: 'PASSKEYS_VOID', count: 1 })
  const { body } = await adminJson(moved, 'doctor', '--quick')
  expect(body.checks).toContainEqual(
    expect.objectContaining({ name: 'passkeys', status: 'warning', message: expect.stringContaining('void: 1.') }),
  )
})
