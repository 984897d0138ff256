import { expect, it } from 'vitest'
import { testApp, type TestApp } from '../app.ts'

async function invite(app: TestApp, input: object = {}) {
  const admin = await app.admin()
  const { body } = await admin.post('/api/admin/users', {
    email: `i${app.address()}@example.com`,
    displayName: 'Ivy',
    mode: 'invite',
    role: 'member',
    ...input,
  })
  return { admin, body, token: body.inviteUrl.split('/invite/')[1] as string }
}

it('invites a user who then chooses a password and signs in', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const { body, token } = await invite(app)
  expect(body).toMatchObject({
    mode: 'invite',
    role: 'member',
    status: 'invited',
    isActive: true,
    inviteUrl: expect.stringMatching(/^http:\/\/localhost:8080\/invite\/[\w-]{43}$/),
    inviteExpiresInHours: 168,
  })
  expect(body).not.toHaveProperty('generatedPassword')
  expect(await app.anonymous.get(`/api/invites/${token}`)).toMatchObject({
    status: 200,
    body: { email: body.email, displayName: 'Ivy', expiresAt: '2026-01-08T00:00:00.000Z' },
  })
  expect(await app.anonymous.post('/api/auth/login', { email: body.email, password: '' })).toMatchObject({ status: 401 })
  const accepted = await app.anonymous.post(`/api/invites/${token}/accept`, {
    password: 'a fine password',
    displayName: 'Someone else',
    role: 'owner',
  })
  expect(accepted).toMatchObject({
    status: 200,
    cookies: [],
    body: { userId: body.userId, displayName: 'Ivy', role: 'member', status: 'active', mustChangePassword: false },
  })
  expect(await app.anonymous.post('/api/auth/login', { email: body.email, password: 'a fine password' })).toMatchObject({ status: 200 })
})

it('answers alike for unknown, expired and used invitations', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const [used, expired] = [await invite(app), await invite(app, { expiresInHours: 1 })]
  await app.anonymous.post(`/api/invites/${used.token}/accept`, { password: 'a fine password' })
  app.clock.now = new Date('2026-01-01T01:00:00Z')
  for (const token of [used.token, expired.token, 'unknown', '%01', 'x'.repeat(200)]) {
    const answers = [
      await app.anonymous.get(`/api/invites/${token}`, { ip: app.address() }),
      await app.anonymous.post(`/api/invites/${token}/accept`, { password: 'a fine password' }, { ip: app.address() }),
    ]
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 404,
        body: {
          error: {
            code: 'NotFound',
            message: 'This invitation does not exist, has expired or was used. Ask an administrator for a new one.',
          },
        },
      })
  }
})

it('works until the moment it expires', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const { token } = await invite(app, { expiresInHours: 1 })
  app.clock.now = new Date('2026-01-01T00:59:59.999Z')
  expect(await app.anonymous.get(`/api/invites/${token}`)).toMatchObject({ status: 200 })
})

it('is invalidated by a newer invitation and by deletion of the user', async () => {
  await using app = await testApp()
  const { admin, body, token } = await invite(app)
  const node = Buffer.from(`User:${body.userId}`).toString('base64')
  const again = await admin.graphql(
    'mutation ($id: ID!) { createInvite(input: { id: $id, expiresInHours: 2 }) { inviteUrl inviteExpiresInHours user { status } } }',
    { id: node },
  )
  expect(again.body.data.createInvite).toMatchObject({ inviteExpiresInHours: 2, user: { status: 'INVITED' } })
  expect(await app.anonymous.get(`/api/invites/${token}`)).toMatchObject({ status: 404 })
  const second = again.body.data.createInvite.inviteUrl.split('/invite/')[1]
  expect(await app.anonymous.get(`/api/invites/${second}`)).toMatchObject({ status: 200 })
  await admin.put(`/api/admin/users/${body.userId}`, { isActive: false })
  expect(await app.anonymous.get(`/api/invites/${second}`)).toMatchObject({ status: 404 })
  expect(
    (await admin.graphql('mutation ($id: ID!) { createInvite(input: { id: $id }) { inviteUrl } }', { id: node })).body.errors[0].extensions
      .code,
  ).toBe('Conflict')
})

it('accepts expiry times from 1 to 720 hours', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const expiresInHours of [0, 721, -1, 1.5, 'x']) {
    expect(
      await admin.post('/api/admin/users', { email: 'h@example.com', displayName: 'H', mode: 'invite', expiresInHours }),
    ).toMatchObject({ status: 400, body: { error: { message: expect.stringMatching(/^expiresInHours: /) } } })
  }
  for (const expiresInHours of [1, 720])
    expect(
      await admin.post('/api/admin/users', { email: `h${expiresInHours}@example.com`, displayName: 'H', mode: 'invite', expiresInHours }),
    ).toMatchObject({ status: 201, body: { inviteExpiresInHours: expiresInHours } })
})

it('allows ten lookups and ten acceptances in 15 minutes, across REST and GraphQL', async () => {
  await using app = await testApp()
  for (let round = 0; round < 5; round++) await app.anonymous.get('/api/invites/x')
  await app.anonymous.graphql(`{ ${[1, 2, 3, 4, 5].map((n) => `a${n}: invite(token: "x${n}") { email }`).join(' ')} }`)
  expect(await app.anonymous.get('/api/invites/x')).toMatchObject({ status: 429 })
  const accept = () => app.anonymous.post('/api/invites/x/accept', { password: 'a fine password' })
  for (let round = 0; round < 5; round++) expect(await accept()).toMatchObject({ status: 404 })
  const mutation = 'mutation { acceptInvite(input: { token: "x", password: "a fine password" }) { user { id } } }'
  for (let round = 0; round < 5; round++) await app.anonymous.graphql(mutation)
  expect(await accept()).toMatchObject({ status: 429 })
})

it('refuses an invalid password and remains open', async () => {
  await using app = await testApp()
  const { token } = await invite(app)
  expect(await app.anonymous.post(`/api/invites/${token}/accept`, { password: 'short' })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^password: /) } },
  })
  expect(await app.anonymous.get(`/api/invites/${token}`)).toMatchObject({ status: 200 })
})
