import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

// One test for each transition that people, roles and packages have. Windows, races and refusals in depth are tested beside
// the features.

const password = 'a fine password'
const person = { email: 'new@example.com', displayName: 'New' }
const failed = (status: number, code: string) => ({ status, body: { error: { code } } })
const create = (admin: Actor, input: object) => admin.post('/api/admin/users', { ...person, role: 'member', ...input })
const login = (app: TestApp, given = password, { email } = person) =>
  app.anonymous.post('/api/auth/login', { email, password: given }, { ip: app.address() })
const userOf = async (admin: Actor, id: string) => (await admin.get(`/api/admin/users/${id}`)).body

describe('transitions of "User account"', () => {
  it('none → active: made by an admin with a one-time password, which must be changed', async () => {
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

  it('none → invited → active: an invitation is made, and accepted without a session', async () => {
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

  it('none → account with role member: signup, where it is on, without a session', async () => {
    await using app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
    expect(await app.anonymous.post('/api/auth/signup', { ...person, password })).toMatchObject({ status: 202, cookies: [] })
    expect(await login(app)).toMatchObject({ status: 200, body: { role: 'member', status: 'active' } })
    await using closed = await testApp()
    expect(await closed.anonymous.post('/api/auth/signup', { ...person, password })).toMatchObject(failed(403, 'InsufficientPermissions'))
  })

  it('active → inactive → active: sessions end, tokens answer 401, packages and memberships stay and take effect again', async () => {
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

  it('any → same: changing the password with the current one ends all sessions', async () => {
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

  it('any → same, a new password due: a reset by an admin ends all sessions', async () => {
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
  it('member, viewer, admin → the given role, never owner', async () => {
    await using app = await testApp()
    const [admin, alice] = [await app.admin(), await app.member()]
    const set = (role: string, by = admin) => by.put(`/api/admin/users/${alice.id}`, { role })
    for (const role of ['viewer', 'admin', 'member']) expect(await set(role)).toMatchObject({ status: 200, body: { role } })
    expect(await set('editor')).toMatchObject({ status: 200, body: { role: 'member' } })
    expect(await set('owner')).toMatchObject(failed(400, 'InvalidInput'))
    expect(await set('admin', alice)).toMatchObject(failed(403, 'InsufficientPermissions'))
    expect(await userOf(admin, alice.id)).toMatchObject({ role: 'member' })
  })

  it('admin → owner by transfer; the owner so far becomes an admin', async () => {
    await using app = await testApp()
    const [owner, admin] = [await app.owner(), await app.admin()]
    expect(await admin.post('/api/admin/transfer-ownership', { email: admin.email })).toMatchObject(failed(403, 'InsufficientPermissions'))
    expect(await owner.post('/api/admin/transfer-ownership', { email: admin.email })).toMatchObject({ status: 200 })
    expect(await admin.get('/api/auth/me')).toMatchObject({ body: { role: 'owner' } })
    expect(await owner.get('/api/auth/me')).toMatchObject({ body: { role: 'admin' } })
  })
})

describe('transitions of "Package version retraction"', () => {
  it('not retracted → retracted → not retracted: time, pointers and activity follow', async () => {
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
  it('uploader-owned → publisher-owned → uploader-owned: uploaders keep their access', async () => {
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
