import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { requestConsent } from '../support/oauth.ts'

const advanceClock = (app: TestApp, minutes: number) =>
  (app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + minutes * 60_000))
const confirm = (browser: Actor, currentPassword = 'correct horse') => browser.post('/api/auth/confirm-password', { currentPassword })
const passwordRequired = {
  status: 403,
  body: {
    error: {
      code: 'InsufficientPermissions',
      message: expect.stringMatching(/^Confirm your password first: send it as currentPassword to POST/),
    },
  },
}

/** Calls the GraphQL-only operation and returns a refusal in the shape of a REST answer. */
async function inviteAgain(as: Actor, id: string): ReturnType<Actor['post']> {
  const answer = await as.graphql('mutation ($id: ID!) { createInvite(input: { id: $id }) { inviteUrl } }', { id })
  const [error] = answer.body.errors ?? []
  return error ? { ...answer, body: { error: { code: error.extensions.code, message: error.message } } } : answer
}

/** Returns all operations that require a recently confirmed password. Each works once. */
async function privilegedOperations(app: TestApp, by: Actor): Promise<[string, (as: Actor) => ReturnType<Actor['post']>][]> {
  const [heir, member, forgetful] = [await app.admin(), await app.member(), await app.member()]
  const disabled = await app.admin()
  await heir.put(`/api/admin/users/${disabled.id}`, { isActive: false })
  const invited = await heir.post('/api/admin/users', { email: 'late@example.com', displayName: 'Late', role: 'admin', mode: 'invite' })
  const user = `query ($id: ID!) { user(uuid: $id) { id } }`
  const { id } = (await heir.graphql(user, { id: invited.body.userId })).body.data.user
  const consent = await requestConsent(by, { scope: 'admin' })
  return [
    ['the switch', (as) => as.put('/api/admin/public-packages', { enabled: true })],
    ['a new administrator', (as) => as.post('/api/admin/users', { email: 'new@example.com', displayName: 'New', role: 'admin' })],
    ['making an administrator', (as) => as.put(`/api/admin/users/${member.id}`, { role: 'admin' })],
    ['activating an administrator', (as) => as.put(`/api/admin/users/${disabled.id}`, { isActive: true })],
    ['inviting an administrator again', (as) => inviteAgain(as, id)],
    ['a reset', (as) => as.post(`/api/admin/users/${forgetful.id}/reset-password`, {})],
    ['a token to administer', (as) => as.post('/api/auth/keys', { name: 'root', scopes: ['admin'] })],
    ['a client that administers', (as) => as.post('/oauth/approve', { request_id: consent })],
    ['the ownership', (as) => as.post('/api/admin/transfer-ownership', { email: heir.email })],
  ]
}

it('requires sessions to have confirmed the password within ten minutes for changes of privileges', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z'), env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const owner = await app.owner()
  const browser = await owner.session()
  const other = await owner.session()
  advanceClock(app, 10)
  const all = await privilegedOperations(app, browser)
  for (const [name, attempt] of all) expect({ name, ...(await attempt(browser)) }).toMatchObject({ name, ...passwordRequired })
  // Operations that change no privileges still work.
  expect(await browser.post('/api/auth/keys', { name: 'ci' })).toMatchObject({ status: 201 })
  expect(await browser.post('/api/admin/users', { email: 'm@example.com', displayName: 'M', role: 'member' })).toMatchObject({
    status: 201,
  })
  expect(await confirm(browser)).toMatchObject({ status: 200, body: { status: 'ok' } })
  // The confirmation is valid only for the session that made it, not for other sessions of the same user.
  expect(await all[0]?.[1](other)).toMatchObject(passwordRequired)
  advanceClock(app, 9)
  for (const [name, attempt] of all) {
    const { status } = await attempt(browser)
    expect({ name, done: status < 300 }).toEqual({ name, done: true })
  }
})

it('requires no password confirmation of tokens, because their scopes already limit them', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z'), env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const owner = await app.owner()
  const all = await privilegedOperations(app, await owner.session())
  advanceClock(app, 60)
  for (const [name, attempt] of all.filter(([what]) => !what.includes('client'))) {
    const { status } = await attempt(owner)
    expect({ name, done: status < 300 }).toEqual({ name, done: true })
  }
})

it('marks the refusal in GraphQL so that clients can ask for the password and retry', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const browser = await (await app.admin()).session()
  advanceClock(app, 11)
  const mutation = 'mutation { createToken(input: { name: "x", scopes: [ADMIN] }) { token { scopes } } }'
  expect((await browser.graphql(mutation)).body.errors[0].extensions).toMatchObject({ code: 'InsufficientPermissions', proof: 'password' })
  const proof = 'mutation ($input: ConfirmPasswordInput!) { confirmPassword(input: $input) }'
  expect((await browser.graphql(proof, { input: { currentPassword: 'correct horse' } })).body).toEqual({
    data: { confirmPassword: true },
    extensions: { cost: expect.any(Number) },
  })
  expect((await browser.graphql(mutation)).body.data.createToken.token.scopes).toEqual(['ADMIN'])
})

it('limits password guesses, also concurrent ones, without mistaking a correct one', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const browser = await alice.session()
  for (let round = 0; round < 6; round++) expect(await confirm(browser)).toMatchObject({ status: 200 })
  const guesses = await Promise.all(Array.from({ length: 20 }, (_, n) => confirm(browser, `a guess ${n}`)))
  expect(guesses.filter(({ status }) => status === 400)).toHaveLength(5)
  expect(guesses.filter(({ status }) => status === 429)).toHaveLength(15)
  expect(await confirm(browser)).toMatchObject({ status: 429 })
  expect(await confirm(alice)).toMatchObject({ status: 403 })
  expect(
    await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' }, { headers: { 'x-csrf-token': '' } }),
  ).toMatchObject({
    status: 403,
    body: { error: { code: 'CsrfMismatch' } },
  })
})

it('never confirms a password that is being changed', async () => {
  await using app = await testApp()
  for (let round = 0; round < 50; round++) {
    const alice = await app.member()
    const browser = await alice.session()
    const [proof] = await Promise.all([
      confirm(browser),
      alice.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword: 'battery staple' }),
    ])
    expect([200, 400, 401]).toContain(proof.status)
    expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  }
})

it('refuses to reset the own password, with a session or a token', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const reset = 'mutation ($id: ID!) { resetPassword(input: { id: $id }) { generatedPassword } }'
  const { id } = (await admin.graphql('{ viewer { id } }')).body.data.viewer
  for (const actor of [admin, await admin.session()]) {
    expect(await actor.post(`/api/admin/users/${admin.id}/reset-password`, {})).toMatchObject({
      status: 403,
      body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining('own password') } },
    })
    expect((await actor.graphql(reset, { id })).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  }
  expect((await admin.session()).csrf).not.toBe('')
})
