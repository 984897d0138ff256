import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { admin as command, adminJson } from '../support/admin.ts'
import { addPasskey, signInOptions, signInWith } from '../support/authenticator.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { addTotp, codeAt } from '../support/totp.ts'

const start = new Date('2026-01-01T12:00:00Z')
const reset = (id: string) => `/api/admin/users/${id}/reset-second-factor`

it('resets the factors of a user who lost them, and ends the sessions', async () => {
  await using app = await testApp({ now: start })
  const [alice, admin] = [await app.member({ displayName: 'Alice' }), await app.admin()]
  const browser = await alice.session()
  const passkey = await addPasskey(browser)
  const { recoveryCodes } = await addTotp(browser, start)
  const login = () => app.anonymous.post('/api/auth/login', { email: alice.email, password: 'correct horse' }, { ip: app.address() })
  expect(await login()).toMatchObject({ status: 401 })
  expect(await (await admin.session()).post(reset(alice.id))).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await signInWith(app, passkey)).toMatchObject({ status: 401 })
  expect(await login()).toMatchObject({ status: 200 })
  const after = (await (await alice.session()).graphql('{ viewer { hasTotp recoveryCodesLeft passkeys { id } } }')).body.data.viewer
  expect(after).toEqual({ hasTotp: false, recoveryCodesLeft: 0, passkeys: [] })
  // Tokens remain.
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  const log = JSON.stringify((await admin.get('/api/admin/audit-log')).body)
  expect(log).toContain('reset the second factor of Alice')
  for (const code of recoveryCodes) expect(log).not.toContain(code)
})

it('refuses members, the own account, the owner, unknown accounts, and administrators without a recent confirmation', async () => {
  await using app = await testApp({ now: start })
  const [alice, admin, owner] = [await app.member(), await app.admin(), await app.owner()]
  const browser = await admin.session()
  const refused = { status: 403, body: { error: { code: 'InsufficientPermissions' } } }
  expect(await (await alice.session()).post(reset(alice.id))).toMatchObject(refused)
  expect(await browser.post(reset(admin.id))).toMatchObject(refused)
  expect(await browser.post(reset(owner.id))).toMatchObject(refused)
  expect(await browser.post(reset('019ac000-0000-7000-8000-000000000000'))).toMatchObject({ status: 404 })
  const robot = await browser.post('/api/admin/service-accounts', { name: 'Robot', role: 'member' })
  expect(await browser.post(reset(robot.body.id))).toMatchObject({ status: 409 })
  app.clock.now = new Date(start.getTime() + 601_000)
  const query = `mutation { resetSecondFactor(input: { userId: "${Buffer.from(`User:${alice.id}`).toString('base64')}" }) { user { id } } }`
  expect((await browser.graphql(query)).body.errors[0].extensions).toMatchObject({ code: 'InsufficientPermissions', proof: 'password' })
  await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })
  expect((await browser.graphql(query)).body.errors).toBeUndefined()
})

it('is reset on the command line, also for the owner', async () => {
  await using app = await testApp({ now: start, alone: true })
  const owner = await app.owner()
  const browser = await owner.session()
  const passkey = await addPasskey(browser)
  await addTotp(browser, start)
  expect(await adminJson(app, 'reset-second-factor', ` ${owner.email.toUpperCase()} `)).toMatchObject({
    code: 0,
    body: { email: owner.email },
  })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await signInWith(app, passkey)).toMatchObject({ status: 401 })
  expect(await owner.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await (await owner.session()).get('/api/auth/passkeys')).toMatchObject({ status: 200, body: { passkeys: [] } })
  expect(await command(app, 'reset-second-factor', 'unknown@example.com')).toMatchObject({ code: 1 })
  const log = JSON.stringify((await owner.get('/api/admin/audit-log')).body)
  expect(log).toContain('The operator reset the second factor of Olive Owner, on the command line')
})

it.each(['passkey', 'code'])('finishes no sign-in with the lost %s after the reset', async (factor) => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const browser = await alice.session()
  const passkey = await addPasskey(browser)
  const { secret } = await addTotp(browser, start)
  const { options, headers, ip } = await signInOptions(app)
  const codes = { email: alice.email, password: 'correct horse', otp: codeAt(secret, new Date(start.getTime() + 30_000)) }
  const signIn = () =>
    factor === 'passkey'
      ? app.anonymous.post('/api/auth/passkey/login', { credential: passkey.get(options) }, { headers, ip })
      : app.anonymous.post('/api/auth/login', codes, { ip })
  const changes = ['passkeys', 'totp_secrets', 'sessions'].map((table) => `delete from ${table} where user_id = '${alice.id}'`)
  const answer = await duringTransaction(app, { lock: `select id from users where id = '${alice.id}'`, changes }, signIn)
  // Where the code is read after the reset, the password is enough.
  if (factor === 'passkey') expect(answer).toMatchObject({ status: 401 })
  expect(await app.services.database.reads.all('select way from sessions where has_second_factor')).toEqual([])
})
