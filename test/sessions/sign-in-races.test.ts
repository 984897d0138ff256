import { expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

type Response = Awaited<ReturnType<Actor['post']>>

// The stored hashes of tests have cost 4. A sign-in rehashes at this cost, which leaves time for a concurrent change.
const env = { BCRYPT_COST: '6' }
const login = (email: string, password = 'correct horse') => ({ email, password })

/** Signs in twice while `change` runs and returns the session cookies of the successful sign-ins. */
async function signInWhile(app: TestApp, round: number, email: string, change: () => Promise<unknown>): Promise<string[]> {
  const attempt = () => app.anonymous.post('/api/auth/login', login(email), { ip: app.address() })
  const answers = (await interleave<[unknown, Response, Response]>(app, round, [change, attempt, attempt])).slice(1) as Response[]
  for (const answer of answers) expect([200, 401]).toContain(answer.status)
  return answers.flatMap(({ cookies }) => cookies.filter(({ name }) => name === names.session).map(({ value }) => value))
}

const me = async (app: TestApp, session: string) =>
  (await app.anonymous.get('/api/auth/me', { headers: { cookie: `${names.session}=${session}` } })).status

async function expectNoSession(app: TestApp, sessions: string[]): Promise<void> {
  for (const session of sessions) expect(await me(app, session)).toBe(401)
  expect(await app.services.database.reads.all('select id from sessions')).toEqual([])
}

it('starts no session with a password that is being changed', async () => {
  await using app = await testApp({ env })
  for (let round = 0; round < interleavings; round++) {
    const alice = await app.member()
    const change = () => alice.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword: 'battery staple' })
    const sessions = await signInWhile(app, round, alice.email, async () => expect(await change()).toMatchObject({ status: 200 }))
    await expectNoSession(app, sessions)
  }
})

it('accepts concurrent sign-ins that each rehash the password', async () => {
  await using app = await testApp({ env })
  for (let round = 0; round < interleavings; round++) {
    const alice = await app.member()
    const attempt = () => app.anonymous.post('/api/auth/login', login(alice.email), { ip: app.address() })
    expect(statuses(await interleave(app, round, [attempt, attempt, attempt]))).toEqual([200, 200, 200])
  }
})

it('starts no session with a password being reset and never overwrites the reset by rehashing', async () => {
  await using app = await testApp({ env })
  const admin = await app.admin()
  for (let round = 0; round < interleavings; round++) {
    const alice = await app.member()
    const reset = () => admin.post(`/api/admin/users/${alice.id}/reset-password`, { password: 'battery staple' }, { ip: app.address() })
    const sessions = await signInWhile(app, round, alice.email, async () => expect(await reset()).toMatchObject({ status: 200 }))
    await expectNoSession(app, sessions)
    expect(await app.anonymous.post('/api/auth/login', login(alice.email), { ip: alice.ip })).toMatchObject({ status: 401 })
    expect(await app.anonymous.post('/api/auth/login', login(alice.email, 'battery staple'), { ip: alice.ip })).toMatchObject({
      status: 200,
    })
    await app.services.database.orm.em.getConnection().execute('delete from sessions')
  }
})

it('leaves no session of a disabled account that works after reactivation', async () => {
  await using app = await testApp({ env })
  const admin = await app.admin()
  for (let round = 0; round < interleavings; round++) {
    const alice = await app.member()
    const set = (isActive: boolean) => admin.put(`/api/admin/users/${alice.id}`, { isActive })
    const disable = async () => expect(await set(false)).toMatchObject({ status: 200 })
    const sessions = await signInWhile(app, round, alice.email, disable)
    expect(await set(true)).toMatchObject({ status: 200 })
    await expectNoSession(app, sessions)
  }
})

it('accepts one of two concurrent password changes, and none after a reset', async () => {
  await using app = await testApp({ env })
  const admin = await app.admin()
  for (let round = 0; round < interleavings * 2; round++) {
    const alice = await app.member()
    const change = (newPassword: string) =>
      alice.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword }, { ip: app.address() })
    const reset = () => admin.post(`/api/admin/users/${alice.id}/reset-password`, { password: 'reset by admin' }, { ip: app.address() })
    const [one, other] = await interleave(app, Math.floor(round / 2), [
      () => change('battery staple'),
      () => (round % 2 ? change('staple battery') : reset()),
    ])
    if (round % 2) {
      expect(statuses([one, other])).toEqual([200, 400])
      const refused = [one, other].find(({ status }) => status === 400)
      expect(refused?.body).toEqual({ error: { code: 'InvalidInput', message: 'currentPassword: is wrong.' } })
      const kept = one.status === 200 ? 'battery staple' : 'staple battery'
      expect(await app.anonymous.post('/api/auth/login', login(alice.email, kept), { ip: alice.ip })).toMatchObject({ status: 200 })
    } else {
      expect(other.status).toBe(200)
      const answer = await app.anonymous.post('/api/auth/login', login(alice.email, 'reset by admin'), { ip: alice.ip })
      expect(answer).toMatchObject({ status: 200, body: { mustChangePassword: true } })
    }
  }
})

it('never activates an account whose invitation is invalidated while the password is hashed', async () => {
  await using app = await testApp({ env: { BCRYPT_COST: '5' } })
  const admin = await app.admin()
  for (let round = 0; round < interleavings * 3; round++) {
    const { body } = await admin.post('/api/admin/users', { email: `i${round}@example.com`, displayName: 'I', mode: 'invite' })
    const token = body.inviteUrl.split('/invite/')[1]
    const accept = () => app.anonymous.post(`/api/invites/${token}/accept`, { password: 'a fine password' }, { ip: app.address() })
    const node = Buffer.from(`User:${body.userId}`).toString('base64')
    const again = () => admin.graphql('mutation ($id: ID!) { createInvite(input: { id: $id }) { inviteUrl } }', { id: node })
    const end = [
      () => admin.put(`/api/admin/users/${body.userId}`, { isActive: false }),
      () => admin.delete(`/api/admin/users/${body.userId}`),
      () => Promise.all([again(), again()]).then(([answer]) => answer),
    ][round % 3] as () => Promise<Response>
    const [accepted, ended] = await interleave(app, Math.floor(round / 3), [accept, end])
    expect([200, 404]).toContain(accepted.status)
    // A user with a password is not invited again.
    expect(accepted.status === 200 ? [200, 409] : [200]).toContain(ended.status)
    const { reads } = app.services.database
    const user = await reads.get<{ password_hash: string | null }>('select password_hash from users where id = ?', body.userId)
    const invites = await reads.all('select id from invites where user_id = ?', body.userId)
    if (accepted.status === 200) expect(invites).toEqual([])
    else expect(user?.password_hash ?? null).toBeNull()
  }
})
