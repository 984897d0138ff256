import { describe, expect, it } from 'vitest'
import { testApp, type TestApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { Browser, providerEnv, signedIn } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }

type Rule = { group: string; role?: string; publisher?: string; publisherRole?: string }

async function server(env: Record<string, string> = {}) {
  const stub = await StubIssuer.start()
  const app = await testApp({ env: { ...providerEnv(stub), OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example', ...env } })
  const admin = await app.admin()
  const rules = async (list: Rule[]) => {
    const answer = await admin.put('/api/admin/oidc-providers/acme/group-rules', { rules: list })
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  }
  const signIn = async (groups: unknown, person: object = alice) => {
    const browser = new Browser(app)
    const end = await browser.signIn(stub, { ...alice, ...person, groups })
    if (end !== '/') throw new Error(end)
    return browser
  }
  return { stub, app, admin, rules, signIn }
}

const membersOf = async (admin: Actor, slug: string) => {
  const answer = await admin.graphql(
    'query ($slug: String!) { publisher(slug: $slug) { members { user { displayName } role isFromGroups } } }',
    { slug },
  )
  const list = answer.body.data.publisher.members as { user: { displayName: string }; role: string; isFromGroups: boolean }[]
  return Object.fromEntries(list.map(({ user, role, isFromGroups }) => [user.displayName, isFromGroups ? `${role} by groups` : role]))
}

async function publisher(app: TestApp, admin: Actor, slug = 'tools') {
  await admin.post('/api/publishers', { id: slug, displayName: slug })
  return app
}

describe('the groups of a provider', () => {
  it('decide the role at each sign-in, and never make an owner', async () => {
    const { stub, app, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    await rules([
      { group: 'devs', role: 'member' },
      { group: 'ops', role: 'admin' },
    ])
    const roles: unknown[] = []
    for (const groups of [['devs'], ['ops', 'devs'], 'devs', ['unknown'], [], undefined, ['ops']])
      roles.push((await (await signIn(groups)).viewer())?.role)
    expect(roles).toEqual(['MEMBER', 'ADMIN', 'MEMBER', 'VIEWER', 'VIEWER', 'VIEWER', 'ADMIN'])
  })

  it('cannot be mapped to the owner', async () => {
    const { stub, app, admin } = await server()
    await using _app = app
    await using _stub = stub
    const answer = await admin.put('/api/admin/oidc-providers/acme/group-rules', { rules: [{ group: 'x', role: 'owner' }] })
    expect(answer.status).toBe(400)
  })

  it('raise a role given by hand, and lower it to that again', async () => {
    const { stub, app, admin, rules, signIn } = await server({ OIDC_DEFAULT_ROLE: 'member' })
    await using _app = app
    await using _stub = stub
    await rules([{ group: 'ops', role: 'admin' }])
    const linked = await signedIn(app)
    const { uuid } = (await linked.actor.graphql('{ viewer { uuid } }')).body.data.viewer
    const change = (role: string) => admin.put(`/api/admin/users/${uuid}`, { role })
    expect((await change('viewer')).status).toBe(200)
    const { redirectUrl } = await linked.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    await linked.finish(stub, new URL(redirectUrl), { sub: 'olga' })
    const roleWith = async (groups: string[]) => (await (await signIn(groups, { sub: 'olga' })).viewer())?.role
    expect([await roleWith([]), await roleWith(['ops']), await roleWith([])]).toEqual(['VIEWER', 'ADMIN', 'VIEWER'])
    await roleWith(['ops'])
    expect((await change('member')).status).toBe(200)
    expect([await roleWith([]), await roleWith(['ops']), await roleWith([])]).toEqual(['MEMBER', 'ADMIN', 'MEMBER'])
  })

  it('take a role with the identity that gave it', async () => {
    const { stub, app, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    await rules([{ group: 'ops', role: 'admin' }])
    const linked = await signedIn(app)
    const { redirectUrl } = await linked.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    await linked.finish(stub, new URL(redirectUrl), { sub: 'olga' })
    const browser = await signIn(['ops'], { sub: 'olga' })
    const { role, linkedIdentities } = (await browser.actor.graphql('{ viewer { role linkedIdentities { id } } }')).body.data.viewer
    expect(role).toBe('ADMIN')
    await linked.mutate('unlinkIdentity', { identityId: linkedIdentities[0].id }, 'unlinkedIdentityId')
    expect((await linked.viewer())?.role).toBe('MEMBER')
  })

  it('do not change the role of the owner, nor that of a former owner', async () => {
    const { stub, app, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    await rules([{ group: 'ops', role: 'admin' }])
    const [owner, olga] = [await signedIn(app, 'owner'), await signedIn(app)]
    const { redirectUrl } = await olga.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    await olga.finish(stub, new URL(redirectUrl), { sub: 'olga' })
    const roleWith = async (groups: string[]) => (await (await signIn(groups, { sub: 'olga' })).viewer())?.role
    expect(await roleWith(['ops'])).toBe('ADMIN')
    expect((await owner.post('/api/admin/transfer-ownership', { email: olga.email })).status).toBe(200)
    expect(await roleWith([])).toBe('OWNER')
    expect((await olga.post('/api/admin/transfer-ownership', { email: owner.email })).status).toBe(200)
    expect(await roleWith([])).toBe('ADMIN')
  })

  it('give memberships, take them again, and leave those given by hand', async () => {
    const { stub, app, admin, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    for (const slug of ['tools', 'apps', 'other']) await publisher(app, admin, slug)
    await rules([
      { group: 'devs', publisher: 'tools', publisherRole: 'member' },
      { group: 'leads', publisher: 'tools', publisherRole: 'admin' },
      { group: 'devs', publisher: 'apps' },
      { group: 'devs', publisher: 'gone' },
    ])
    const browser = await signIn(['devs', 'leads'])
    expect((await membersOf(admin, 'tools')).Alice).toBe('ADMIN by groups')
    expect((await membersOf(admin, 'apps')).Alice).toBe('MEMBER by groups')
    const { uuid } = (await browser.actor.graphql('{ viewer { uuid } }')).body.data.viewer
    // By hand: admin of apps, and member of other.
    await admin.put(`/api/publishers/apps/members/${uuid}`, { role: 'admin' })
    await admin.put(`/api/publishers/other/members/${uuid}`, { role: 'member' })
    await signIn(['devs'])
    expect((await membersOf(admin, 'tools')).Alice).toBe('MEMBER by groups')
    expect((await membersOf(admin, 'apps')).Alice).toBe('ADMIN by groups')
    await signIn([])
    expect((await membersOf(admin, 'tools')).Alice).toBeUndefined()
    expect((await membersOf(admin, 'apps')).Alice).toBe('ADMIN')
    expect((await membersOf(admin, 'other')).Alice).toBe('MEMBER')
    const entries = await admin.get('/api/admin/audit-log?kind=publisher.member_added')
    expect(JSON.stringify(entries.body)).toContain('The groups of Alice gave the role admin in tools')
  })

  it('raise a membership given by hand, and lower it to that again', async () => {
    const { stub, app, admin, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    await publisher(app, admin)
    const browser = await signIn([])
    const { uuid } = (await browser.actor.graphql('{ viewer { uuid } }')).body.data.viewer
    await admin.put(`/api/publishers/tools/members/${uuid}`, { role: 'member' })
    await rules([{ group: 'leads', publisher: 'tools', publisherRole: 'admin' }])
    await signIn(['leads'])
    expect((await membersOf(admin, 'tools')).Alice).toBe('ADMIN by groups')
    await signIn([])
    expect((await membersOf(admin, 'tools')).Alice).toBe('MEMBER')
  })

  it('leave the last admin of a publisher', async () => {
    const { stub, app, admin, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    await publisher(app, admin)
    await rules([{ group: 'leads', publisher: 'tools', publisherRole: 'admin' }])
    await signIn(['leads'])
    expect((await admin.delete(`/api/publishers/tools/members/${admin.id}`)).status).toBe(200)
    await signIn([])
    expect((await membersOf(admin, 'tools')).Alice).toBe('ADMIN by groups')
  })

  it('change nothing when the provider leaves them out because there are too many', async () => {
    const { stub, app, admin, rules, signIn } = await server()
    await using _app = app
    await using _stub = stub
    await publisher(app, admin)
    await rules([{ group: 'ops', role: 'admin', publisher: 'tools' }])
    await signIn(['ops'])
    for (const overage of [{ _claim_names: { groups: 'src1' } }, { hasgroups: true }]) {
      expect((await (await signIn(undefined, overage)).viewer())?.role).toBe('ADMIN')
      expect((await membersOf(admin, 'tools')).Alice).toBe('MEMBER by groups')
    }
    expect(app.lines.join('\n')).toContain('too many groups')
  })

  it('are found by a path, and are not evaluated without a groups claim', async () => {
    const nested = await server({ OIDC_ACME_GROUPS_CLAIM: 'realm_access.roles', OIDC_DEFAULT_ROLE: 'member' })
    await using _app = nested.app
    await using _stub = nested.stub
    await nested.rules([{ group: 'ops', role: 'admin' }])
    expect((await (await nested.signIn(undefined, { realm_access: { roles: ['ops'] } })).viewer())?.role).toBe('ADMIN')
    expect((await (await nested.signIn(undefined, {})).viewer())?.role).toBe('MEMBER')
  })
})
