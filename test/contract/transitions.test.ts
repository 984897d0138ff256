import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

// One test for each state transition of users, roles and packages in the interface. The tests of each feature cover races, time limits and refusals.

const password = 'a fine password'
const person = { email: 'new@example.com', displayName: 'New' }
const failed = (status: number, code: string) => ({ status, body: { error: { code } } })
const create = (admin: Actor, input: object) => admin.post('/api/admin/users', { ...person, role: 'member', ...input })
const login = (app: TestApp, given = password, { email } = person) =>
  app.anonymous.post('/api/auth/login', { email, password: given }, { ip: app.address() })
const userOf = async (admin: Actor, id: string) => (await admin.get(`/api/admin/users/${id}`)).body

describe('transitions of "User account"', () => {
  it('none → active: creates a user with a one-time password that must be changed', async () => {
    await using app = await testApp()
    for (const maker of [await app.admin(), await app.owner()]) {
      const email = `made-by-${maker.id}@example.com`
      const { status, body } = await create(maker, { email })
      expect({ status, body }).toMatchObject({
        status: 201,
        body: { status: 'active', mustChangePassword: true, generatedPassword: expect.stringMatching(/^.{16}$/) },
      })
      expect(await login(app, body.generatedPassword, { ...person, email })).toMatchObject({
        status: 200,
        body: { mustChangePassword: true },
      })
    }
    expect(await create(await app.member(), {})).toMatchObject(failed(403, 'InsufficientPermissions'))
  })

  it('none → invited → active: creates an invitation that is accepted without a session', async () => {
    await using app = await testApp()
    const { status, body } = await create(await app.admin(), { mode: 'invite' })
    expect({ status, body }).toMatchObject({ status: 201, body: { status: 'invited', inviteUrl: expect.stringContaining('/invite/') } })
    expect(await login(app)).toMatchObject(failed(401, 'MissingAuthentication'))
    const token = body.inviteUrl.split('/invite/')[1]
    expect(await app.anonymous.post(`/api/invites/${token}/accept`, { password })).toMatchObject({
      status: 200,
      body: { status: 'active' },
      cookies: [],
    })
    expect(await login(app)).toMatchObject({ status: 200 })
  })

  it('none → account with role member: accepts signups where enabled, without creating a session', async () => {
    await using app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
    expect(await app.anonymous.post('/api/auth/signup', { ...person, password })).toMatchObject({ status: 202, cookies: [] })
    expect(await login(app)).toMatchObject({ status: 200, body: { role: 'member', status: 'active' } })
    await using closed = await testApp()
    expect(await closed.anonymous.post('/api/auth/signup', { ...person, password })).toMatchObject(failed(403, 'InsufficientPermissions'))
  })

  it('active → inactive → active: ends sessions, suspends tokens and keeps packages and memberships', async () => {
    await using app = await testApp()
    const [admin, alice, reader] = [await app.admin(), await app.member(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await admin.post('/api/publishers', { id: 'corp', displayName: 'Corp' })
    await admin.put(`/api/publishers/corp/members/${alice.id}`, { role: 'member' })
    const browser = await alice.session()
    const set = (by: Actor, isActive: boolean) => by.put(`/api/admin/users/${alice.id}`, { isActive })
    expect(await set(reader, false)).toMatchObject(failed(403, 'InsufficientPermissions'))
    expect(await set(admin, false)).toMatchObject({ status: 200, body: { status: 'inactive' } })
    for (const actor of [browser, alice]) expect(await actor.get('/api/auth/me')).toMatchObject(failed(401, 'MissingAuthentication'))
    expect(await login(app, 'correct horse', { ...person, email: alice.email })).toMatchObject(failed(401, 'MissingAuthentication'))
    expect(await reader.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 200 })
    expect((await reader.get('/api/packages/acme/uploaders')).body.uploaders).toMatchObject([{ userId: alice.id }])
    expect(await set(admin, true)).toMatchObject({ status: 200, body: { status: 'active' } })
    expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
    expect(await alice.put('/api/packages/acme/publisher', { publisherId: 'corp' })).toMatchObject({ status: 200 })
    await publish(alice, { name: 'acme', version: '1.1.0' })
  })

  it('any → same: ends all sessions when the user changes the password', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const [one, other] = [await alice.session(), await alice.session()]
    const change = (currentPassword: string) => one.post('/api/auth/change-password', { currentPassword, newPassword: password })
    expect((await change('wrong password')).status).toBeGreaterThanOrEqual(400)
    expect(await other.get('/api/auth/me')).toMatchObject({ status: 200 })
    expect(await change('correct horse')).toMatchObject({ status: 200 })
    for (const browser of [one, other]) expect(await browser.get('/api/auth/me')).toMatchObject(failed(401, 'MissingAuthentication'))
    expect(await login(app, password, { ...person, email: alice.email })).toMatchObject({ status: 200 })
  })

  it('any → same, password change due: ends all sessions when an administrator resets the password', async () => {
    await using app = await testApp()
    const [admin, alice] = [await app.admin(), await app.member()]
    const browser = await alice.session()
    expect(await alice.post(`/api/admin/users/${alice.id}/reset-password`, {})).toMatchObject(failed(403, 'InsufficientPermissions'))
    const { body } = await admin.post(`/api/admin/users/${alice.id}/reset-password`, {})
    expect(body).toMatchObject({ mustChangePassword: true, generatedPassword: expect.any(String) })
    expect(await browser.get('/api/auth/me')).toMatchObject(failed(401, 'MissingAuthentication'))
    expect(await userOf(admin, alice.id)).toMatchObject({ mustChangePassword: true })
  })
})

describe('transitions of "Role"', () => {
  it('member, viewer, admin → the given role: never assigns owner', async () => {
    await using app = await testApp()
    const [admin, alice] = [await app.admin(), await app.member()]
    const set = (role: string, by = admin) => by.put(`/api/admin/users/${alice.id}`, { role })
    for (const role of ['viewer', 'admin', 'member']) expect(await set(role)).toMatchObject({ status: 200, body: { role } })
    expect(await set('editor')).toMatchObject({ status: 200, body: { role: 'member' } })
    expect(await set('owner')).toMatchObject(failed(400, 'InvalidInput'))
    expect(await set('admin', alice)).toMatchObject(failed(403, 'InsufficientPermissions'))
    expect(await userOf(admin, alice.id)).toMatchObject({ role: 'member' })
  })

  it('admin → owner: makes the previous owner an administrator on transfer', async () => {
    await using app = await testApp()
    const [owner, admin] = [await app.owner(), await app.admin()]
    expect(await admin.post('/api/admin/transfer-ownership', { email: admin.email })).toMatchObject(failed(403, 'InsufficientPermissions'))
    expect(await owner.post('/api/admin/transfer-ownership', { email: admin.email })).toMatchObject({ status: 200 })
    expect(await admin.get('/api/auth/me')).toMatchObject({ body: { role: 'owner' } })
    expect(await owner.get('/api/auth/me')).toMatchObject({ body: { role: 'admin' } })
  })
})

describe('transitions of "Package version retraction"', () => {
  it('not retracted → retracted → not retracted: updates date, latest versions and activity', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const version of ['1.0.0', '1.1.0', '2.0.0-dev']) await publish(alice, { name: 'acme', version })
    const query =
      '{ package(name: "acme") { latest { version } latestPrerelease { version } version(version: "2.0.0-dev") { retractedAt } } }'
    const shown = async () => (await alice.graphql(query)).body.data.package
    const set = (isRetracted: boolean) => alice.put('/api/packages/acme/versions/2.0.0-dev/options', { isRetracted })
    const before = await shown()
    expect(before).toMatchObject({ latestPrerelease: { version: '2.0.0-dev' }, version: { retractedAt: null } })
    expect(await set(true)).toMatchObject({ status: 200 })
    expect(await shown()).toMatchObject({
      latest: { version: '1.1.0' },
      latestPrerelease: null,
      version: { retractedAt: expect.any(String) },
    })
    expect(await set(false)).toMatchObject({ status: 200 })
    expect(await shown()).toEqual(before)
    const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
    expect(entries.slice(0, 2).map(({ kind }: { kind: string }) => kind)).toEqual([
      'package.version_unretracted',
      'package.version_retracted',
    ])
  })
})

describe('transitions of "Package ownership"', () => {
  it('uploader-owned → publisher-owned → uploader-owned: keeps the access of uploaders', async () => {
    await using app = await testApp()
    const [admin, alice, helper] = [await app.admin(), await app.member(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await admin.post('/api/publishers', { id: 'corp', displayName: 'Corp' })
    const give = (by: Actor, publisherId: string | null) => by.put('/api/packages/acme/publisher', { publisherId })
    expect(await give(alice, 'corp')).toMatchObject(failed(403, 'InsufficientPermissions'))
    for (const member of [alice, helper]) await admin.put(`/api/publishers/corp/members/${member.id}`, { role: 'member' })
    expect(await give(helper, 'corp')).toMatchObject(failed(403, 'InsufficientPermissions'))
    expect(await give(alice, 'corp')).toMatchObject({ status: 200, body: { publisherId: 'corp' } })
    await publish(alice, { name: 'acme', version: '1.1.0' })
    await publish(helper, { name: 'acme', version: '1.2.0' })
    expect(await give(alice, null)).toMatchObject({ status: 200, body: { publisherId: null } })
    await publish(alice, { name: 'acme', version: '1.3.0' })
    await expect(publish(helper, { name: 'acme', version: '1.4.0' })).rejects.toThrow('not an uploader')
  })
})
