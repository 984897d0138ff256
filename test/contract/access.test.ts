import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { requestConsent, authorizeUrl, codeFor, consentUrl, loginUrl, parametersOf } from '../support/oauth.ts'

// One test for each state transition of credentials and server settings in the interface.

const day = 86_400_000
const failed = (status: number, code: string) => ({ status, body: { error: { code } } })
const unknown = failed(401, 'MissingAuthentication')

describe('transitions of "PAT and session"', () => {
  it('PAT valid → revoked: allows only the owner to revoke a token, which then answers 401', async () => {
    await using app = await testApp()
    const [alice, bob] = [await app.member(), await app.member()]
    const { id, secret } = (await alice.post('/api/auth/keys', { name: 'ci' })).body
    expect(await bob.delete(`/api/auth/keys/${id}`)).toMatchObject(failed(404, 'NotFound'))
    expect(await app.withToken(secret).get('/api/auth/me')).toMatchObject({ status: 200 })
    expect(await alice.delete(`/api/auth/keys/${id}`)).toMatchObject({ status: 200 })
    expect(await app.withToken(secret).get('/api/auth/me')).toMatchObject(unknown)
  })

  it('PAT valid → expired: refuses a token after its expiry and accepts one without expiry', async () => {
    await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
    const alice = await app.member()
    const make = async (body: object) => app.withToken((await alice.post('/api/auth/keys', { name: 'ci', ...body })).body.secret)
    const [brief, endless] = [await make({ expiresInDays: 1 }), await make({})]
    app.clock.now = new Date('2026-01-01T23:59:59Z')
    expect(await brief.get('/api/auth/me')).toMatchObject({ status: 200 })
    app.clock.now = new Date('2026-01-02T00:00:01Z')
    expect(await brief.get('/api/auth/me')).toMatchObject(unknown)
    app.clock.now = new Date(app.clock.now.getTime() + 5000 * day)
    expect(await endless.get('/api/auth/me')).toMatchObject({ status: 200 })
  })

  it('session active → revoked: ends only the session that logs out', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const [one, other] = [await alice.session(), await alice.session()]
    expect(await one.post('/api/auth/logout')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await one.get('/api/auth/me')).toMatchObject(unknown)
    for (const actor of [other, alice]) expect(await actor.get('/api/auth/me')).toMatchObject({ status: 200 })
  })

  it('session active → revoked: ends one session or all other sessions', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const [one, two, three] = [await alice.session(), await alice.session(), await alice.session()]
    const { sessions } = (await two.get('/api/auth/sessions')).body
    const own = sessions.find(({ current }: { current: boolean }) => current)
    expect(await one.delete(`/api/auth/sessions/${own.id}`)).toMatchObject({ status: 200 })
    expect(await two.get('/api/auth/me')).toMatchObject(unknown)
    expect(await one.post('/api/auth/sessions/revoke-others')).toMatchObject({ status: 200 })
    expect(await three.get('/api/auth/me')).toMatchObject(unknown)
    expect(await one.get('/api/auth/me')).toMatchObject({ status: 200 })
  })
})

describe('transitions of "OAuth authorization"', () => {
  it('none → none: redirects signed-out users to the login page', async () => {
    await using app = await testApp()
    const { status, headers } = await app.anonymous.get(authorizeUrl())
    expect({ status, location: String(headers.location).startsWith(loginUrl) }).toEqual({ status: 302, location: true })
  })

  it('none → pending: redirects signed-in users to the consent page', async () => {
    await using app = await testApp()
    const browser = await (await app.member()).session()
    const { status, headers } = await browser.get(authorizeUrl())
    expect({ status, location: String(headers.location).startsWith(consentUrl) }).toEqual({ status: 302, location: true })
    const requestId = String(headers.location).slice(consentUrl.length)
    expect(await browser.get(`/oauth/pending/${requestId}`)).toMatchObject({ status: 200, body: { request_id: requestId } })
  })

  it('pending → approved: requires the session and redirects with code and state', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const browser = await alice.session()
    const requestId = await requestConsent(browser)
    expect((await alice.post('/oauth/approve', { request_id: requestId })).status).toBe(403)
    const { status, body } = await browser.post('/oauth/approve', { request_id: requestId })
    expect({ status, ...parametersOf(body.redirect_url) }).toMatchObject({ status: 200, code: expect.any(String), state: 'a state' })
  })

  it('approved → exchanged: exchanges a code once, with the right redirect_uri and verifier', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const browser = await alice.session()
    const wrong = await codeFor(browser)
    expect((await app.anonymous.post('/oauth/token', { ...wrong, code_verifier: 'x'.repeat(43) })).status).toBe(400)
    const given = await codeFor(browser)
    const { status, body } = await app.anonymous.post('/oauth/token', given)
    expect({ status, body }).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope: 'read,write', email: alice.email } })
    expect(await app.withToken(body.access_token).get('/api/auth/me')).toMatchObject({ status: 200, body: { userId: alice.id } })
    expect((await app.anonymous.post('/oauth/token', given)).status).toBe(400)
  })
})

describe('transitions of "Public-packages switch"', () => {
  it('enabled false → true → false: allows administrators to change it and records each change in the audit log', async () => {
    await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
    const admin = await app.admin()
    for (const enabled of [true, false]) {
      expect(await (await app.member()).put('/api/admin/public-packages', { enabled })).toMatchObject({ status: 403 })
      expect(await admin.put('/api/admin/public-packages', { enabled })).toMatchObject({ status: 200, body: { enabled } })
      const { entries } = (await admin.get('/api/admin/audit-log?kind=server.')).body
      expect(entries[0].kind).toBe(`server.public_packages_${enabled ? 'enabled' : 'disabled'}`)
    }
  })

  it('either → unchanged: answers 403 naming the variable while the environment does not permit it', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    for (const enabled of [true, false])
      expect(await admin.put('/api/admin/public-packages', { enabled })).toMatchObject({
        status: 403,
        body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining('PUBLIC_PACKAGES_ENABLED') } },
      })
    expect((await admin.get('/api/admin/public-packages')).body).toMatchObject({ permittedByEnvironment: false, enabled: false })
  })
})

describe.each(['privacy', 'terms'])('transitions of "Legal document" (%s)', (kind) => {
  it('default → custom → default: accepts a text of the owner and restores the default with an empty text or DELETE', async () => {
    await using app = await testApp()
    const [owner, admin] = [await app.owner(), await app.admin()]
    const put = (markdown: string, by = owner) => by.put(`/api/admin/legal/${kind}`, { markdown })
    const shown = async () => (await app.anonymous.get(`/api/legal/${kind}`)).body
    const builtIn = await shown()
    expect(builtIn.isCustom).toBe(false)
    expect(await put('Ours', admin)).toMatchObject(failed(403, 'InsufficientPermissions'))
    for (const back of [() => put(''), () => owner.delete(`/api/admin/legal/${kind}`)]) {
      expect(await put('Ours')).toMatchObject({ status: 200 })
      expect(await shown()).toEqual({ markdown: 'Ours', isCustom: true })
      expect(await back()).toMatchObject({ status: 200 })
      expect(await shown()).toEqual(builtIn)
    }
  })
})

describe('transitions of "Health"', () => {
  it('ok → degraded → ok: follows a check that fails and recovers', async () => {
    await using app = await testApp()
    const health = () => app.anonymous.get('/api/v1/health')
    const db = app.services.database.orm.em.getConnection()
    expect(await health()).toMatchObject({ status: 200, body: { status: 'ok' } })
    await db.execute('alter table package_search_documents rename to lost')
    expect(await health()).toMatchObject({ status: 503, body: { status: 'degraded', checks: { search_index: { status: 'error' } } } })
    await db.execute('alter table lost rename to package_search_documents')
    expect(await health()).toMatchObject({ status: 200, body: { status: 'ok' } })
  })
})
