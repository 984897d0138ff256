import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { makeOwned } from '../support/ownership.ts'
import { publish, publishArchive } from '../support/publish.ts'

const uploader = ({ email }: { email: string }) => `/api/packages/acme/uploaders/${encodeURIComponent(email)}`
const add = (actor: Actor, whom: Actor) => actor.put(uploader(whom))
const remove = (actor: Actor, whom: Actor) => actor.delete(uploader(whom))
const emails = async (actor: Actor): Promise<string[]> =>
  (await actor.get('/api/packages/acme/uploaders')).body.uploaders.map(({ email }: { email: string }) => email)

async function withPackage() {
  const app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const bob = await app.member({ displayName: 'Bob' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  return { app, alice, bob }
}

describe('uploaders', () => {
  it('are added and removed by an uploader and may publish in between', async () => {
    const { app, alice, bob } = await withPackage()
    await using _app = app
    const next = await packageArchive({ name: 'acme', version: '1.1.0' })
    expect(await publishArchive(bob, next)).toMatchObject({ status: 403 })
    expect(await add(alice, bob)).toMatchObject({
      status: 200,
      body: {
        uploaders: [
          { userId: alice.id, email: alice.email, displayName: 'Alice' },
          { userId: bob.id, email: bob.email, displayName: 'Bob' },
        ],
      },
    })
    expect(await publishArchive(bob, next)).toMatchObject({ status: 200 })
    expect(await remove(alice, bob)).toMatchObject({ status: 200, body: { uploaders: [{ email: alice.email }] } })
    expect(await publishArchive(bob, await packageArchive({ name: 'acme', version: '1.2.0' }))).toMatchObject({ status: 403 })
    const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
    expect(entries.map(({ kind, summary }: { kind: string; summary: string }) => [kind, summary]).slice(0, 3)).toEqual([
      ['package.uploader_removed', 'Alice removed Bob from the uploaders of acme'],
      ['package.version_published', 'Bob published acme 1.1.0'],
      ['package.uploader_added', 'Alice added Bob to the uploaders of acme'],
    ])
  })

  it('are found by e-mail address in any spelling, and adding one again changes nothing', async () => {
    const { app, alice } = await withPackage()
    await using _app = app
    const cleo = await app.member({ email: 'Cleo+pub@example.com' })
    expect(await alice.put('/api/packages/acme/uploaders/cleo%2Bpub@EXAMPLE.com')).toMatchObject({ status: 200 })
    expect(await add(alice, cleo)).toMatchObject({ status: 200 })
    expect((await emails(alice)).toSorted()).toEqual([alice.email, cleo.email].toSorted())
    const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
    expect(entries.filter(({ kind }: { kind: string }) => kind === 'package.uploader_added')).toHaveLength(1)
  })

  it('cannot be removed if they are the last of a package without a publisher', async () => {
    const { app, alice, bob } = await withPackage()
    await using _app = app
    const last = {
      status: 400,
      body: {
        error: { code: 'InvalidInput', message: 'Alice is the last uploader of acme, which has no publisher. Add another uploader first.' },
      },
    }
    expect(await remove(alice, alice)).toMatchObject(last)
    expect(await remove(await app.owner(), alice)).toMatchObject(last)
    await add(alice, bob)
    expect(await remove(alice, alice)).toMatchObject({ status: 200, body: { uploaders: [{ email: bob.email }] } })
    expect(await add(alice, alice)).toMatchObject({ status: 403 })
    expect(await remove(bob, bob)).toMatchObject({ status: 400 })
  })

  it('may all be removed when a publisher owns the package', async () => {
    const { app, alice } = await withPackage()
    await using _app = app
    const { admin: boss } = await makeOwned(app, 'acme')
    expect(await remove(boss, alice)).toMatchObject({ status: 200, body: { uploaders: [] } })
    expect(await alice.put('/api/packages/acme/options', { isUnlisted: true })).toMatchObject({ status: 403 })
    expect(await add(boss, alice)).toMatchObject({ status: 200, body: { uploaders: [{ email: alice.email }] } })
  })

  it('must be active accounts that can publish, not viewers, disabled or invited accounts', async () => {
    const { app, alice } = await withPackage()
    await using _app = app
    const admin = await app.admin()
    const viewer = await app.viewer({ displayName: 'Vera' })
    const disabled = await app.member({ displayName: 'Dora', isActive: false })
    const invite = { email: 'ivy@example.com', displayName: 'Ivy', role: 'member', mode: 'invite' }
    await admin.post('/api/admin/users', invite)
    expect(await alice.put(uploader({ email: 'unknown@example.com' }))).toMatchObject({
      status: 404,
      body: { error: { code: 'NotFound' } },
    })
    for (const [whom, reason] of [
      [viewer, /^Vera has the role viewer, which cannot publish/],
      [disabled, /^The account of Dora is disabled/],
      [invite, /^Ivy has not accepted the invitation yet/],
    ] as const)
      expect(await alice.put(uploader(whom))).toMatchObject({
        status: 409,
        body: { error: { code: 'Conflict', message: expect.stringMatching(reason) } },
      })
    expect(await emails(alice)).toEqual([alice.email])
  })

  it('are kept when their account is disabled and can be removed', async () => {
    const { app, alice, bob } = await withPackage()
    await using _app = app
    const admin = await app.admin()
    await add(alice, bob)
    await admin.put(`/api/admin/users/${bob.id}`, { isActive: false })
    expect(await emails(alice)).toContain(bob.email)
    expect(await add(alice, bob)).toMatchObject({ status: 200 })
    await admin.put(`/api/admin/users/${bob.id}`, { isActive: true })
    expect(await publishArchive(bob, await packageArchive({ name: 'acme', version: '1.1.0' }))).toMatchObject({ status: 200 })
    await admin.put(`/api/admin/users/${bob.id}`, { isActive: false })
    expect(await remove(alice, bob)).toMatchObject({ status: 200 })
  })

  it('can be changed by package admins only', async () => {
    const { app, alice, bob } = await withPackage()
    await using _app = app
    const { admin: boss, member: helper } = await makeOwned(app, 'acme')
    for (const actor of [alice, boss, await app.admin(), await app.owner()]) {
      expect(await add(actor, bob)).toMatchObject({ status: 200 })
      expect(await remove(actor, bob)).toMatchObject({ status: 200 })
    }
    for (const actor of [bob, helper, await app.viewer(), await app.withScopes(alice, ['read'])]) {
      expect(await add(actor, bob)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
      expect(await remove(actor, alice)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    }
    expect(await add(app.anonymous, bob)).toMatchObject({ status: 401 })
    expect(await remove(app.anonymous, alice)).toMatchObject({ status: 401 })
    expect(await emails(alice)).toEqual([alice.email])
  })

  it('must be valid addresses of uploaders of an existing package', async () => {
    const { app, alice, bob } = await withPackage()
    await using _app = app
    expect(await remove(alice, bob)).toMatchObject({
      status: 404,
      body: { error: { code: 'NotFound', message: `${bob.email} is not an uploader of acme.` } },
    })
    expect(await alice.delete(uploader({ email: 'unknown@example.com' }))).toMatchObject({ status: 404 })
    expect(await alice.put(`/api/packages/nothing/uploaders/${bob.email}`)).toMatchObject({ status: 404 })
    expect(await alice.get('/api/packages/nothing/uploaders')).toMatchObject({ status: 404 })
    for (const email of ['no-address', '%00', 'a@b@c', `${'x'.repeat(300)}@example.com`, '%2e%2e', ' '])
      expect(await alice.put(uploader({ email }))).toMatchObject({
        status: 400,
        body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^email: /) } },
      })
    expect(await alice.put(`/api/packages/No/uploaders/${bob.email}`)).toMatchObject({ status: 400 })
  })

  it('can be changed by GraphQL mutations', async () => {
    const { app, alice, bob } = await withPackage()
    await using _app = app
    const run = (mutation: string, email: string) =>
      alice.graphql(
        `mutation ($email: String!) { ${mutation}(input: { package: "acme", email: $email }) { package { uploaders { email } } } }`,
        {
          email,
        },
      )
    expect((await run('addUploader', bob.email)).body.data.addUploader.package.uploaders).toHaveLength(2)
    expect((await run('removeUploader', bob.email)).body.data.removeUploader.package.uploaders).toEqual([{ email: alice.email }])
    expect((await run('removeUploader', alice.email)).body.errors[0].extensions).toMatchObject({ code: 'InvalidInput', field: 'email' })
  })
})
