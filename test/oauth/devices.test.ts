import * as oauth from 'oauth4webapi'
import { expect, it } from 'vitest'
import { collectAuthorizations } from '../../server/accounts/oauth/service.ts'
import { User } from '../../server/accounts/users/entity.ts'
import { statuses } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { approveDevice, denyDevice, deviceGrant, startDevice, wait } from '../support/devices.ts'
import { anotherInstance } from '../support/instances.ts'

const insecure = { [oauth.allowInsecureRequests]: true }
const client = { client_id: 'cli' }
const start = new Date('2026-11-01T12:00:00Z')

async function discover(app: TestApp): Promise<oauth.AuthorizationServer> {
  const url = await app.listen()
  const { body } = await app.anonymous.get('/.well-known/oauth-authorization-server')
  const moved = JSON.stringify(body).replaceAll(app.config.SERVER_URL, url)
  return oauth.processDiscoveryResponse(new URL(url), new Response(moved, { headers: { 'content-type': 'application/json' } }))
}

async function pollAsClient(server: oauth.AuthorizationServer, deviceCode: string) {
  const response = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), deviceCode, insecure)
  return oauth.processDeviceCodeResponse(server, client, response)
}

it('gives a standard client on a device a token that it can revoke', async () => {
  await using app = await testApp({ now: start })
  const server = await discover(app)
  const alice = await app.member()
  const asked = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), { scope: 'read write' }, insecure)
  const device = await oauth.processDeviceAuthorizationResponse(server, client, asked)
  expect(device).toMatchObject({
    device_code: expect.stringMatching(/^[\w-]{43}$/),
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: 'http://localhost:8080/device',
    verification_uri_complete: `http://localhost:8080/device?user_code=${device.user_code}`,
    expires_in: 600,
    interval: 5,
  })
  await expect(pollAsClient(server, device.device_code)).rejects.toMatchObject({ error: 'authorization_pending' })
  expect(await approveDevice(await alice.session(), device.user_code)).toMatchObject({ status: 200, body: { scope: 'read,write' } })
  const { access_token: token, ...granted } = await pollAsClient(server, device.device_code)
  expect(granted).toMatchObject({ token_type: 'bearer', scope: 'read,write', email: alice.email })
  const holder = app.withToken(token)
  expect(await holder.get('/api/auth/keys')).toMatchObject({
    body: { keys: [{ name: 'CLI, 2026-11-01', expiresAt: '2027-01-30T12:00:00.000Z' }, {}] },
  })
  const revoked = await oauth.revocationRequest(server, client, oauth.None(), token, insecure)
  expect(await oauth.processRevocationResponse(revoked)).toBeUndefined()
  expect((await holder.get('/api/auth/me')).status).toBe(401)
})

it.each([(code: string) => code.toLowerCase(), (code: string) => code.replace('-', ''), (code: string) => ` ${code.split('').join(' ')} `])(
  'accepts user codes in any case, with and without separators (%#)',
  async (typed) => {
    await using app = await testApp()
    const session = await (await app.member()).session()
    const device = await startDevice(app, { scope: 'read' })
    const code = encodeURIComponent(typed(device.user_code))
    expect(await session.get(`/oauth/device/${code}`)).toMatchObject({
      status: 200,
      body: { user_code: device.user_code, scope: 'read', client_ip: device.ip },
    })
    expect((await approveDevice(session, typed(device.user_code))).status).toBe(200)
    expect((await device.poll()).status).toBe(200)
  },
)

it('asks a device that polls too fast to wait longer, and counts on every instance', async () => {
  await using app = await testApp({ now: start })
  await using second = await anotherInstance(app)
  const other = second ?? app
  const device = await startDevice(app)
  const polls = [
    [app, 0, 'authorization_pending'],
    [other, 4, 'slow_down'],
    [app, 9, 'slow_down'],
    [other, 14, 'slow_down'],
    [app, 20, 'authorization_pending'],
  ] as const
  for (const [instance, after, error] of polls) {
    wait(app, after)
    if (second) second.clock.now = app.clock.now
    expect(await device.poll(app.anonymous.at(instance))).toMatchObject({ status: 400, body: { error } })
  }
  // A token is not held back, however fast the device polls.
  expect((await approveDevice(await (await app.member()).session(), device.user_code)).status).toBe(200)
  expect((await device.poll(app.anonymous.at(other))).status).toBe(200)
})

it('reports a denied and an expired request, and forgets them a day later', async () => {
  await using app = await testApp({ now: start })
  const session = await (await app.member()).session()
  const [denied, expired, approved] = [await startDevice(app), await startDevice(app), await startDevice(app)]
  expect((await denyDevice(session, denied.user_code)).status).toBe(200)
  expect((await approveDevice(session, approved.user_code)).status).toBe(200)
  expect(await denied.poll()).toMatchObject({ status: 400, body: { error: 'access_denied' } })
  expect(await approveDevice(session, denied.user_code)).toMatchObject({ status: 404 })
  wait(app, 600)
  for (const device of [expired, approved]) expect(await device.poll()).toMatchObject({ status: 400, body: { error: 'expired_token' } })
  expect(await approveDevice(session, expired.user_code)).toMatchObject({ status: 404 })
  wait(app, 86_401)
  expect(await collectAuthorizations(app.services)).toBe(3)
  for (const device of [denied, expired]) expect(await device.poll()).toMatchObject({ body: { error: 'invalid_grant' } })
})

it('gives one token for a device code, and revokes it when the code is used again', async () => {
  await using app = await testApp()
  const device = await startDevice(app)
  await approveDevice(await (await app.member()).session(), device.user_code)
  const answers = await Promise.all([device.poll(), device.poll(), device.poll()])
  const granted = answers.filter(({ status }) => status === 200)
  expect(granted).toHaveLength(1)
  for (const { status, body } of answers) if (status !== 200) expect(body.error).toBe('invalid_grant')
  expect((await app.withToken(granted[0]?.body.access_token).get('/api/auth/me')).status).toBe(401)
  expect(await (await app.admin()).get('/api/admin/audit-log?kind=token.reuse_detected')).toMatchObject({ body: { entries: [{}] } })
})

it('accepts one of two concurrent approvals', async () => {
  await using app = await testApp()
  const people = [await app.member(), await app.member()]
  const sessions = await Promise.all(people.map((person) => person.session()))
  const device = await startDevice(app)
  const answers = await Promise.all(sessions.map((session) => approveDevice(session, device.user_code)))
  expect(statuses(answers)).toEqual([200, 404])
  const winner = people[answers.findIndex(({ status }) => status === 200)]
  expect(await device.poll()).toMatchObject({ status: 200, body: { email: winner?.email } })
})

it('limits the scopes to the role, and requires a recent password for the scope admin', async () => {
  await using app = await testApp({ now: start })
  const [viewer, admin] = [await (await app.viewer()).session(), await (await app.admin()).session()]
  const read = await startDevice(app, { scope: 'read,write,admin' })
  expect(await approveDevice(viewer, read.user_code)).toMatchObject({ status: 200, body: { scope: 'read' } })
  expect(await read.poll()).toMatchObject({ status: 200, body: { scope: 'read' } })
  wait(app, 11 * 60)
  const late = await startDevice(app, { scope: 'admin' })
  expect(await approveDevice(admin, late.user_code)).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringMatching(/^Confirm your password/) } },
  })
  expect(await late.poll()).toMatchObject({ body: { error: 'authorization_pending' } })
})

it('gives no token once the session that approved has ended, or the account is disabled', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const [alice, bob] = [await app.member(), await app.member()]
  const [ofAlice, ofBob] = [await startDevice(app), await startDevice(app)]
  const session = await alice.session()
  await approveDevice(session, ofAlice.user_code)
  await approveDevice(await bob.session(), ofBob.user_code)
  await session.post('/api/auth/logout')
  await admin.put(`/api/admin/users/${bob.id}`, { isActive: false })
  for (const device of [ofAlice, ofBob]) expect(await device.poll()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
})

it('gives no token to an account that must change its password or set up a second factor first', async () => {
  await using app = await testApp({ env: { REQUIRE_SECOND_FACTOR: 'admins' } })
  const blocked = [await (await app.member({ mustChangePassword: true })).session(), await (await app.admin()).session()]
  const device = await startDevice(app)
  for (const session of blocked) {
    const code = device.user_code
    for (const answer of [await approveDevice(session, code), await denyDevice(session, code), await session.get(`/oauth/device/${code}`)])
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  }
  expect(await device.poll()).toMatchObject({ body: { error: 'authorization_pending' } })
  // The password is reset between the approval and the next poll.
  const bob = await app.member()
  await approveDevice(await bob.session(), device.user_code)
  await app.services.database.fork().nativeUpdate(User, { id: bob.id }, { mustChangePassword: true })
  expect(await device.poll()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
})

it('needs a session with a CSRF token to answer, not an access token', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const session = await alice.session()
  const device = await startDevice(app)
  const withoutCsrf = { headers: { 'x-csrf-token': '' } }
  for (const path of ['/oauth/device/approve', '/oauth/device/deny']) {
    expect((await alice.post(path, { user_code: device.user_code })).status).toBe(403)
    expect((await app.anonymous.post(path, { user_code: device.user_code })).status).toBe(401)
    expect((await session.post(path, { user_code: device.user_code }, withoutCsrf)).status).toBe(403)
  }
  expect((await alice.get(`/oauth/device/${device.user_code}`)).status).toBe(403)
  expect(await device.poll()).toMatchObject({ body: { error: 'authorization_pending' } })
})

it('stops guesses of user codes, of an account and of a network', async () => {
  await using app = await testApp()
  const [alice, bob] = [await (await app.member()).session(), await (await app.member()).session()]
  const device = await startDevice(app)
  const ask = (session: typeof alice, ip: string, code = 'BBBB-BBBB') => session.get(`/oauth/device/${code}`, { ip })
  for (let tries = 0; tries < 20; tries++) expect((await ask(alice, app.address())).status).toBe(404)
  expect((await ask(alice, app.address(), device.user_code)).status).toBe(429)
  const shared = app.address()
  const others = await Promise.all([1, 2].map(async () => (await app.member()).session()))
  for (let tries = 0; tries < 20; tries++) expect((await ask(others[tries % 2] ?? bob, shared)).status).toBe(404)
  expect((await ask(bob, shared, device.user_code)).status).toBe(429)
  expect((await ask(bob, app.address(), device.user_code)).status).toBe(200)
})

it.each([
  ['no client_id', {}, 'invalid_request'],
  ['another client', { client_id: 'other' }, 'invalid_client'],
  ['two clients', { client_id: ['cli', 'cli'] }, 'invalid_request'],
  ['an unknown scope', { client_id: 'cli', scope: 'read,root' }, 'invalid_scope'],
])('rejects a device with %s', async (_what, body, error) => {
  await using app = await testApp()
  expect(await app.anonymous.post('/oauth/device_authorization', body)).toMatchObject({
    status: 400,
    headers: { 'cache-control': 'no-store' },
    body: { error, error_description: expect.any(String) },
  })
})

it.each([
  ['an unknown code', { client_id: 'cli', device_code: 'x' }, 'invalid_grant'],
  ['no code', { client_id: 'cli' }, 'invalid_request'],
  ['no client_id', { device_code: 'x' }, 'invalid_request'],
  ['another client', { client_id: 'other', device_code: 'x' }, 'invalid_client'],
])('rejects a poll with %s', async (_what, body, error) => {
  await using app = await testApp()
  expect(await app.anonymous.post('/oauth/token', { grant_type: deviceGrant, ...body })).toMatchObject({ status: 400, body: { error } })
})
