import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { admin, adminJson, environmentOf, runCommand } from '../support/admin.ts'

const login = (app: TestApp, email: string, password: string) =>
  app.anonymous.post('/api/auth/login', { email, password }, { ip: app.address() })

/** Returns the newest audit entries without an actor, as "kind: summary". */
async function auditedByOperator(app: TestApp): Promise<string[]> {
  const { entries } = (await (await app.owner()).get('/api/admin/audit-log')).body
  return entries.flatMap(({ kind, summary, agent }: Record<string, unknown>) =>
    agent === null ? [`${String(kind)}: ${String(summary)}`] : [],
  )
}

it('creates an owner on a new server and invalidates the setup code', async () => {
  await using app = await testApp({ setUp: false })
  const { code, body } = await adminJson(app, 'create-user', 'Ada@example.com', '--name', 'Ada Lovelace', '--role', 'owner')
  expect([code, body]).toMatchObject([0, { ok: true, email: 'Ada@example.com', role: 'owner', url: 'http://localhost:8080/login' }])
  expect(await login(app, 'ada@example.com', body.password)).toMatchObject({ status: 200, body: { mustChangePassword: true } })
  expect((await app.anonymous.get('/api/setup/status')).body).not.toMatchObject({ needsSetup: true })
  expect(await auditedByOperator(app)).toEqual([
    'server.setup_completed: The operator made Ada Lovelace the owner, which completed the setup, on the command line',
  ])
  const second = await adminJson(app, 'create-user', 'eve@example.com', '--role', 'owner')
  expect([second.code, second.body]).toMatchObject([1, { ok: false, error: { code: 'Conflict' } }])
  expect(second.err).toBe('Ada@example.com is the owner. To transfer the ownership: npm run admin -- make-owner eve@example.com')
  expect((await adminJson(app, 'users')).body.users).toHaveLength(1)
})

it('creates accounts, lists them and changes their roles', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  const { code, out } = await admin(app, 'create-user', 'bob@example.com')
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^Created an account for bob@example\.com \(member\)\.\nOne-time password: \S{16}\n/),
  ])
  expect(await admin(app, 'change-role', ' BOB@example.com', 'admin')).toEqual({
    code: 0,
    out: 'bob@example.com now has the role admin.',
    err: '',
  })
  expect((await admin(app, 'change-role', 'bob@example.com', 'admin')).out).toBe('bob@example.com already has the role admin.')
  expect((await adminJson(app, 'change-role', 'bob@example.com', 'editor')).body).toMatchObject({ role: 'member', changed: true })
  expect((await adminJson(app, 'users', '--role', 'editor')).body.users).toMatchObject([{ email: 'bob@example.com', role: 'member' }])
  await admin(app, 'change-role', 'bob@example.com', 'admin')
  const { users } = (await adminJson(app, 'users', '--role', 'admin')).body
  expect(users).toMatchObject([{ email: 'bob@example.com', displayName: 'bob', role: 'admin', status: 'active', lastLoginAt: null }])
  expect((await admin(app, 'users')).out).toMatch(/bob@example\.com {2}admin {2}active {2}never signed in {2}bob\n.*\n2 accounts\.$/)
  expect(await auditedByOperator(app)).toEqual([
    'user.updated: The operator changed bob: role admin, on the command line',
    'user.updated: The operator changed bob: role member, on the command line',
    'user.updated: The operator changed bob: role admin, on the command line',
    'user.created: The operator created an account for bob (member), on the command line',
  ])
  for (const [code, words, message] of [
    [1, ['create-user', 'bob@EXAMPLE.com'], 'An account with the e-mail address bob@EXAMPLE.com already exists.'],
    [2, ['create-user', 'bob'], '<email>: must be an e-mail address.'],
    [2, ['create-user', 'eve@example.com', '--name', 'a\nb'], '--name: must not contain control characters.'],
    [2, ['create-user', 'eve@example.com', '--role', 'king'], 'Unknown role king. Use one of viewer, member, admin, owner.'],
    [2, ['users', '--role', 'king'], 'Unknown role king'],
    [2, ['change-role', 'bob@example.com', 'owner'], 'To transfer the ownership: npm run admin -- make-owner'],
    [1, ['change-role', owner.email, 'viewer'], 'The owner cannot be changed here.'],
    [1, ['change-role', 'unknown@example.com', 'viewer'], 'There is no user with the e-mail address unknown@example.com.'],
  ] as const)
    expect([words, await admin(app, ...words)]).toMatchObject([words, { code, out: '', err: expect.stringContaining(message) }])
  expect((await adminJson(app, 'users')).body.users).toHaveLength(2)
})

it('explains that the server does not accept a password that it sets', async () => {
  await using app = await testApp()
  const [owner, bob] = [await app.owner(), await app.member()]
  const environment = { ...environmentOf(app), PASSWORD_SIGN_IN: 'owner' }
  const outputs = await Promise.all([bob, owner].map(({ email }) => runCommand(environment, 'reset-password', email)))
  const advice = `PASSWORD_SIGN_IN=all and restart it, or: npm run admin -- make-owner ${bob.email}`
  expect(outputs.map(({ code, out }) => [code, out.includes(advice)])).toEqual([
    [0, true],
    [0, false],
  ])
  expect((await runCommand(environment, 'create-user', 'eve@example.com')).out).toContain('make-owner eve@example.com')
})

it('disables and enables users but never the owner', async () => {
  await using app = await testApp()
  const [owner, bob] = [await app.owner(), await app.member()]
  const browser = await bob.session()
  expect(await admin(app, 'disable-user', bob.email)).toEqual({ code: 0, out: `${bob.email} is now disabled.`, err: '' })
  expect(await bob.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect((await admin(app, 'reset-password', bob.email)).out).toContain(`npm run admin -- enable-user ${bob.email}`)
  expect((await admin(app, 'disable-user', bob.email)).out).toBe(`${bob.email} is already disabled.`)
  expect((await admin(app, 'enable-user', bob.email)).out).toBe(`${bob.email} is now active.`)
  expect(await bob.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await admin(app, 'disable-user', owner.email)).toMatchObject({
    code: 1,
    err: expect.stringContaining('The owner cannot be changed here.'),
  })
  expect(await owner.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await auditedByOperator(app)).toEqual([
    `user.updated: The operator changed ${bob.user.displayName}: active, on the command line`,
    `user.password_reset: The operator reset the password of ${bob.user.displayName}, on the command line`,
    `user.updated: The operator changed ${bob.user.displayName}: disabled, on the command line`,
  ])
})

it('lists tokens by user without their secrets and revokes one with its descendants', async () => {
  await using app = await testApp()
  const [owner, bob] = [await app.owner(), await app.member()]
  const made = (await bob.post('/api/auth/keys', { name: 'of a token' })).body
  const { code, body } = await adminJson(app, 'tokens', bob.email)
  expect([code, body.tokens]).toMatchObject([
    0,
    [
      { owner: bob.email, expiresAt: null },
      { name: 'of a token', scopes: ['read', 'write'] },
    ],
  ])
  const all = await admin(app, 'tokens')
  expect(all.out).toMatch(/\n3 tokens\.$/)
  expect(all.out).toContain(owner.email)
  expect(all.out).not.toContain(made.secret)
  expect(JSON.stringify(body)).not.toContain(made.secret)
  const [first] = body.tokens
  const revoked = await adminJson(app, 'revoke-token', first.id.toUpperCase())
  expect(revoked).toMatchObject({ code: 0, body: { ok: true, owner: bob.email, revoked: 2 } })
  expect(await bob.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await app.withToken(made.secret).get('/api/auth/me')).toMatchObject({ status: 401 })
  expect((await admin(app, 'revoke-token', first.id)).out).toContain('is already revoked.')
  expect((await adminJson(app, 'tokens', bob.email)).body.tokens).toEqual([])
  expect(await auditedByOperator(app)).toEqual([
    expect.stringMatching(
      /^token\.revoked: The operator revoked the token ".*" of .*, along with 1 token that was created with it, on the command line$/,
    ),
  ])
  for (const [words, message] of [
    [['tokens', 'unknown@example.com'], 'There is no user with the e-mail address'],
    [['revoke-token', 'svc_pat_x'], 'There is no token with the id svc_pat_x.'],
    [['revoke-token', owner.id], `There is no token with the id ${owner.id}.`],
  ] as const)
    expect([words, await admin(app, ...words)]).toMatchObject([words, { code: 1, out: '', err: expect.stringContaining(message) }])
})
