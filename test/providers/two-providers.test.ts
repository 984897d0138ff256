import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const person = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }
const publishers = ['tools', 'apps', 'libs']
type Name = 'acme' | 'other'

/** Starts a server with two providers, and signs in to an account that is linked at both, whose role groups decide. */
async function server() {
  const stubs = { acme: await StubIssuer.start(), other: await StubIssuer.start() }
  const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
  const { issuer } = stubs.other
  const app = await testApp({ env: { ...providerEnv(stubs.acme), ...signUp, TOKEN_ISSUER_HOSTS: new URL(issuer).host } })
  const admin = await app.admin()
  await admin.post('/api/admin/oidc-providers', { name: 'other', issuer, clientId: 'snug', clientSecret: 'x', groupsClaim: 'groups' })
  for (const slug of publishers) await admin.post('/api/publishers', { id: slug, displayName: slug })
  const rules = (name: Name, list: object[]) => admin.put(`/api/admin/oidc-providers/${name}/group-rules`, { rules: list })
  await rules('acme', [
    { group: 'devs', role: 'member', publisher: 'tools' },
    { group: 'leads', publisher: 'apps', publisherRole: 'admin' },
  ])
  await rules('other', [
    { group: 'ops', role: 'admin', publisher: 'apps' },
    { group: 'devs', publisher: 'libs' },
  ])
  const signIn = async (name: Name, groups?: string[]): Promise<Browser> => {
    const browser = new Browser(app)
    const claims = { ...person, groups, auth_time: Math.floor(Date.now() / 1000) }
    const end = await browser.finish(stubs[name], await browser.start(`/auth/oidc/${name}`), claims, name)
    if (end !== '/') throw new Error(end)
    return browser
  }
  const browser = await signIn('acme', [])
  const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'other' }, 'redirectUrl')
  await browser.finish(stubs.other, new URL(redirectUrl), person, 'other')
  const state = async () => [(await browser.viewer())?.role, await membershipsOf(admin)]
  const unlink = async (name: Name): Promise<void> => {
    const { body } = await browser.actor.graphql('{ viewer { linkedIdentities { id provider { name } } } }')
    const identities = body.data.viewer.linkedIdentities as { id: string; provider: { name: string } }[]
    const identityId = identities.find(({ provider }) => provider.name === name)?.id
    await browser.mutate('unlinkIdentity', { identityId }, 'unlinkedIdentityId')
  }
  const close = async () => {
    for (const one of [app, stubs.acme, stubs.other]) await one[Symbol.asyncDispose]()
  }
  return { app, admin, rules, signIn, state, unlink, [Symbol.asyncDispose]: close }
}

/** Returns the roles of Alice by publisher. */
async function membershipsOf(admin: Actor): Promise<Record<string, string>> {
  const query = publishers.map((slug) => `${slug}: publisher(slug: "${slug}") { members { user { displayName } role } }`).join(' ')
  const { data } = (await admin.graphql(`{ ${query} }`)).body
  const members = data as Record<string, { members: { user: { displayName: string }; role: string }[] }>
  const roles = Object.entries(members).map(([slug, one]) => [slug, one.members.find(({ user }) => user.displayName === 'Alice')?.role])
  return Object.fromEntries(roles.filter(([, role]) => role !== undefined))
}

describe('an account with identities at two providers', () => {
  it('has the highest role and all memberships that either gives, and each sign-in changes only what its provider gave', async () => {
    await using all = await server()
    const { signIn, state } = all
    await signIn('acme', ['devs'])
    expect(await state()).toEqual(['MEMBER', { tools: 'MEMBER' }])
    await signIn('other', ['ops', 'devs'])
    expect(await state()).toEqual(['ADMIN', { tools: 'MEMBER', apps: 'MEMBER', libs: 'MEMBER' }])
    await signIn('acme', ['leads'])
    expect(await state()).toEqual(['ADMIN', { apps: 'ADMIN', libs: 'MEMBER' }])
    await signIn('other', [])
    expect(await state()).toEqual(['VIEWER', { apps: 'ADMIN' }])
    await signIn('acme', [])
    expect(await state()).toEqual(['VIEWER', {}])
  })

  it('loses what an identity gave when it is unlinked', async () => {
    await using all = await server()
    const { signIn, state, unlink } = all
    await signIn('acme', ['devs'])
    await signIn('other', ['ops', 'devs'])
    await unlink('other')
    expect(await state()).toEqual(['MEMBER', { tools: 'MEMBER' }])
  })

  it('keeps a membership given by hand when an identity is unlinked', async () => {
    await using all = await server()
    const { admin, signIn, state, unlink } = all
    const browser = await signIn('other', ['ops'])
    const { uuid } = (await browser.actor.graphql('{ viewer { uuid } }')).body.data.viewer
    await admin.put(`/api/publishers/libs/members/${uuid}`, { role: 'member' })
    await unlink('other')
    expect(await state()).toEqual(['VIEWER', { libs: 'MEMBER' }])
  })

  it('loses what a removed provider gave at the next sign-in through another', async () => {
    await using all = await server()
    const { admin, signIn, state } = all
    await signIn('other', ['ops'])
    expect((await admin.delete('/api/admin/oidc-providers/other')).status).toBe(200)
    await signIn('acme', ['devs'])
    expect(await state()).toEqual(['MEMBER', { tools: 'MEMBER' }])
  })
})
