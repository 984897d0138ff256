import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { Browser, providerEnv, signedIn } from '../support/oidc.ts'
import { OidcServer } from '../support/oidc-server.ts'

// Rounds through `oidc-provider`, a certified OpenID provider.

const alice = { email: 'alice@acme.example', email_verified: true, name: 'Alice', groups: ['devs'] }

async function server(env: Record<string, string> = {}) {
  const provider = await OidcServer.start()
  provider.people.alice = { ...alice }
  const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
  return { provider, app: await testApp({ env: { ...providerEnv(provider), ...signUp, ...env } }) }
}

describe('oidc-provider', () => {
  it('signs up and in, with groups that decide role and memberships, also after a rotation of its keys', async () => {
    const { provider, app } = await server()
    await using _app = app
    await using _provider = provider
    const admin = await app.admin()
    await admin.post('/api/publishers', { id: 'tools', displayName: 'Tools' })
    const rules = [
      { group: 'devs', role: 'member' },
      { group: 'ops', role: 'admin', publisher: 'tools', publisherRole: 'admin' },
    ]
    await admin.put('/api/admin/oidc-providers/acme/group-rules', { rules })
    const browser = new Browser(app)
    expect(await provider.complete(browser, await browser.start('/auth/oidc/acme?return_to=/me'), 'alice')).toBe('/me')
    expect(await browser.viewer()).toEqual({ email: 'alice@acme.example', role: 'MEMBER', displayName: 'Alice', hasPassword: false })
    provider.people.alice = { ...alice, groups: ['ops'] }
    await provider.renew()
    expect(await provider.complete(browser, await browser.start(), 'alice')).toBe('/')
    expect((await browser.viewer())?.role).toBe('ADMIN')
    const members = await admin.get('/api/publishers/tools/members')
    expect(JSON.stringify(members.body)).toContain('alice@acme.example')
    provider.people.alice = { ...alice, groups: [] }
    await provider.complete(browser, await browser.start(), 'alice')
    expect((await browser.viewer())?.role).toBe('VIEWER')
    expect(JSON.stringify((await admin.get('/api/publishers/tools/members')).body)).not.toContain('alice@acme.example')
  })

  it('links an account, accepts an invitation, and proves who the user is', async () => {
    const { provider, app } = await server()
    await using _app = app
    await using _provider = provider
    const browser = await signedIn(app)
    const cookies = new Map<string, string>()
    const link = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(await provider.complete(browser, new URL(link.redirectUrl), 'alice', cookies)).toBe('/settings/security')
    const again = new Browser(app)
    expect(await provider.complete(again, await again.start(), 'alice')).toBe('/')
    expect((await again.viewer())?.email).toBe(browser.email)
    // The provider signs in again, although it knows the browser.
    const proof = await browser.mutate('confirmIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(await provider.complete(browser, new URL(proof.redirectUrl), 'alice', cookies)).toBe('/')
    const invited = await (
      await app.admin()
    ).post('/api/admin/users', { email: 'b@x.example', displayName: 'B', role: 'viewer', mode: 'invite' })
    const token = String(invited.body.inviteUrl).split('/').at(-1)
    const guest = new Browser(app)
    const accept = await guest.mutate('acceptInviteWithProvider', { token, provider: 'acme' }, 'redirectUrl')
    expect(await provider.complete(guest, new URL(accept.redirectUrl), 'bob')).toBe('/')
    expect((await guest.viewer())?.email).toBe('b@x.example')
  })

  it('refuses the code of another browser, and a code that was used', async () => {
    const { provider, app } = await server()
    await using _app = app
    await using _provider = provider
    const [attacker, victim] = [new Browser(app), new Browser(app)]
    provider.currentSubject = 'alice'
    const stolen = await provider.visit(await attacker.start(), new Map())
    const own = await victim.start()
    expect(await victim.callback({ ...stolen, state: own.searchParams.get('state') ?? '' })).toBe('/login?error=expired&provider=acme')
    expect(await victim.viewer()).toBeNull()
    const next = await provider.visit(await attacker.start(), new Map())
    expect(await attacker.callback(next)).toBe('/')
    const replay = await attacker.start()
    expect(await attacker.callback({ ...next, state: replay.searchParams.get('state') ?? '' })).toContain('error=expired')
  })

  it('ends sessions by back-channel logout when its user signs out there', async () => {
    const { provider, app } = await server()
    await using _app = app
    await using _provider = provider
    const address = await app.listen()
    await provider.renew({ backchannelLogoutUri: `${address}/auth/oidc/acme/backchannel-logout` })
    const [browser, elsewhere] = [new Browser(app), new Browser(app)]
    const cookies = new Map<string, string>()
    await provider.complete(browser, await browser.start(), 'alice', cookies)
    await provider.complete(elsewhere, await elsewhere.start(), 'alice')
    const answer = await browser.actor.graphql('mutation { logout { endSessionUrl } }')
    const url = new URL(answer.body.data.logout.endSessionUrl)
    // Another session of the same browser at the provider, which it then ends.
    await provider.complete(browser, await browser.start(), 'alice', cookies)
    expect(await browser.viewer()).not.toBeNull()
    const page = await (await provider.request(url, cookies)).text()
    const [, action = ''] = /action="([^"]+)"/.exec(page) ?? []
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page) ?? []
    await provider.request(new URL(action), cookies, new URLSearchParams({ xsrf, logout: 'yes' }))
    expect(await browser.viewer()).toBeNull()
    expect(await elsewhere.viewer()).not.toBeNull()
  })

  it('is away: the round ends on the sign-in page', async () => {
    const { provider, app } = await server()
    await using _app = app
    const browser = new Browser(app)
    const at = await browser.start()
    provider.currentSubject = 'alice'
    const parameters = await provider.visit(at, new Map())
    await provider[Symbol.asyncDispose]()
    expect(await browser.callback(parameters)).toBe('/login?error=provider_unreachable&provider=acme')
  })
})
