import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { packageArchive } from '../support/archive.ts'
import { interleave } from '../support/interleave.ts'
import { listingPath, mirrorOf, passMinutes, publishOwn } from '../support/mirror.ts'
import { finish, publish, publishArchive, upload } from '../support/publish.ts'
import { failWith, reset, send, type UpstreamFault } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const namesPath = '/api/package-name-completion-data'
const attempt = async (actor: Actor, name: string, version = '1.0.0') => publishArchive(actor, await packageArchive({ name, version }))
/** The response to a publish of a name that needs approval for a reason. */
const waiting = (name: string, reason: string) => ({
  status: 400,
  body: {
    error: {
      code: 'PackageRejected',
      message: expect.stringMatching(
        new RegExp(
          `^An administrator of this server must approve the name ${name} first: .*${reason}.*Administration, Names\\. Publish again once it is approved\\.$`,
        ),
      ),
    },
  },
})
const listed = async (admin: Actor) => (await admin.get('/api/admin/confusable-names')).body.names

it('holds new names of the upstream server until an administrator approves them, whatever the setting', async () => {
  for (const CONFUSABLE_NAMES of ['warn', 'review']) {
    const upstream = await Upstream.start()
    for (const name of ['http', 'other']) upstream.publish(name, '1.0.0')
    await using app = await mirrorOf(upstream, { env: { CONFUSABLE_NAMES } })
    const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
    const refused = waiting('http', `${upstream.url} has a package of this name`)
    for (const actor of [alice, admin, await app.owner(), bob]) expect(await attempt(actor, 'http')).toMatchObject(refused)
    expect(await bob.get('/mirror/api/packages/http')).toMatchObject({ status: 200 })
    const upstreamReason = `${upstream.url} has a package of this name, which the mirror could then no longer serve`
    expect(await listed(admin)).toMatchObject([
      { name: 'http', similarNames: [], isUpstream: true, upstreamReason, requestedBy: { userId: bob.id }, isPublished: false },
    ])
    expect(await admin.put('/api/admin/confusable-names/http')).toMatchObject({ status: 200 })
    expect(await listed(admin)).toEqual([])
    const published = await attempt(alice, 'http')
    expect([published.status, published.body.success?.message]).toEqual([200, expect.not.stringContaining('Warning')])
    await publish(alice, { name: 'http', version: '1.1.0' })
    expect(await bob.get('/mirror/api/packages/http')).toMatchObject({ status: 403 })
  }
})

it('asks for the list of all names first, and for a package only if the list does not have it', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http', 'unlisted']) upstream.publish(name, '1.0.0')
  upstream.fail(namesPath, send(JSON.stringify({ packages: ['http'] })))
  await using app = await mirrorOf(upstream)
  const alice = await app.member()
  expect(await attempt(alice, 'http')).toMatchObject({ status: 400 })
  expect(upstream.mentions('http')).toBe(false)
  expect(await attempt(alice, 'unlisted')).toMatchObject(waiting('unlisted', 'has a package of this name'))
  expect(await attempt(alice, 'ours')).toMatchObject({ status: 200 })
  const requests = upstream.count()
  // Names that are not new are never sent.
  await publish(alice, { name: 'ours', version: '1.1.0' })
  expect(await attempt(await app.member(), 'ours', '1.2.0')).toMatchObject({ status: 403 })
  await (await app.admin()).delete('/api/admin/packages/ours')
  expect(await attempt(alice, 'ours', '1.3.0')).toMatchObject({ status: 409 })
  expect(upstream.count()).toBe(requests)
})

it('publishes names in UPSTREAM_NEVER without asking for them, with a warning if the stored list has them', async () => {
  const upstream = await Upstream.start()
  for (const name of ['acme_kit', 'acme_tool']) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream, { env: { UPSTREAM_NEVER: 'acme_*' } })
  const alice = await app.member()
  expect((await attempt(alice, 'acme_kit')).body.success.message).not.toContain('Warning')
  expect(upstream.count()).toBe(0)
  await alice.get(`/mirror${namesPath}`)
  expect((await attempt(alice, 'acme_tool')).body.success.message).toContain(
    `Warning: ${upstream.url} also has a package named acme_tool. To depend on this one, write "hosted: ${app.config.SERVER_URL}".`,
  )
  expect(upstream.mentions('acme')).toBe(false)
})

const faults: Record<string, { fault: UpstreamFault; reason: string }> = {
  'answers 429': { fault: failWith(429), reason: 'has received too many requests' },
  'answers 503': { fault: failWith(503), reason: 'status 503' },
  'answers 401': { fault: failWith(401), reason: 'status 401' },
  'sends a page': { fault: send('<html></html>'), reason: 'not a valid listing' },
  'closes the connection': { fault: reset, reason: '\\(.+\\)' },
  'does not answer': { fault: () => {}, reason: '\\(.+\\)' },
}

it.each(Object.keys(faults))('holds a new name if the upstream server %s', async (what) => {
  const { fault, reason } = faults[what] ?? { fault: reset, reason: '' }
  const upstream = await Upstream.start()
  await using app = await mirrorOf(upstream)
  for (const instance of app.instances)
    instance.services.state.upstreamTimes = {
      documentMs: 500,
      archiveHeadersMs: 500,
      archiveMs: 1000,
      pace: { bytes: 1, ms: 1000 },
    }
  const [alice, admin] = [await app.member(), await app.admin()]
  // An earlier answer does not count.
  expect(await alice.get(`/mirror${listingPath('ours')}`)).toMatchObject({ status: 404 })
  for (const path of [listingPath('ours'), listingPath('mine')]) upstream.fail(path, fault)
  for (const name of ['ours', 'mine']) {
    expect(await attempt(alice, name)).toMatchObject(waiting(name, `it is unknown whether .* has a package of this name.*${reason}`))
    expect(await listed(admin)).toMatchObject([{ name, isUpstream: false, upstreamReason: expect.stringContaining('it is unknown') }])
    await admin.put(`/api/admin/confusable-names/${name}`)
    expect(await attempt(alice, name)).toMatchObject({ status: 200 })
  }
  // Without the list as well, and after the server has recovered.
  for (const path of [namesPath, listingPath('later')]) upstream.fail(path, fault)
  passMinutes(app, 120)
  expect(await attempt(alice, 'later')).toMatchObject(waiting('later', 'it is unknown whether'))
  for (const path of [namesPath, listingPath('later')]) upstream.heal(path)
  passMinutes(app, 1)
  expect(await attempt(alice, 'later')).toMatchObject({ status: 200 })
  expect(await listed(admin)).toEqual([])
})

it('holds names that the mirror has served, even after the upstream server and the cache have lost them', async () => {
  const upstream = await Upstream.start()
  for (const name of ['colors', 'kept']) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const name of ['colors', 'kept']) expect(await alice.get(`/mirror${listingPath(name)}`)).toMatchObject({ status: 200 })
  await admin.graphql('mutation { removeMirroredPackage(input: { name: "colors" }) }')
  for (const name of ['colors', 'kept']) upstream.remove(name)
  passMinutes(app, 120)
  for (const name of ['colors', 'kept']) expect(await attempt(alice, name)).toMatchObject(waiting(name, 'has a package of this name'))
})

it('does not accept an approval that was given without a mirror, and accepts one for a name without a request', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http', 'path', 'yaml']) upstream.publish(name, '1.0.0')
  await using app = await testApp({ env: { CONFUSABLE_NAMES: 'review' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  await admin.put('/api/admin/confusable-names/http')
  await publish(alice, { name: 'path', version: '1.0.0' })
  await admin.delete('/api/admin/packages/path')
  await admin.delete('/api/admin/reserved-names/path')
  for (const { services } of app.instances) services.config.UPSTREAM_URL = upstream.url
  for (const name of ['http', 'path'])
    expect(await attempt(alice, name, '2.0.0')).toMatchObject(waiting(name, 'has a package of this name'))
  for (const name of ['http', 'path', 'yaml']) await admin.put(`/api/admin/confusable-names/${name}`)
  for (const name of ['http', 'path', 'yaml']) expect(await attempt(alice, name, '2.0.0')).toMatchObject({ status: 200 })
})

it('holds a name in all of several concurrent publishes, and publishes it once after the approval', async () => {
  const upstream = await Upstream.start()
  upstream.publish('http', '1.0.0')
  await using app = await mirrorOf(upstream)
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  const both = async () => {
    const [a, b] = [await packageArchive({ name: 'http', version: '1.0.0' }), await packageArchive({ name: 'http', version: '1.1.0' })]
    const uploads = [await upload(alice, a), await upload(bob, b)] as const
    return Promise.all([finish(alice, uploads[0]), finish(bob, uploads[1])])
  }
  expect((await both()).map(({ status }) => status)).toEqual([400, 400])
  expect(await listed(admin)).toHaveLength(1)
  await admin.put('/api/admin/confusable-names/http')
  expect((await both()).filter(({ status }) => status === 200)).toHaveLength(1)
})

it('never publishes a name whose approval is revoked concurrently after the revocation', async () => {
  const upstream = await Upstream.start()
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  for (let round = 0; round < 8; round++) {
    const name = `http${'abcdefgh'[round]}`
    upstream.publish(name, '1.0.0')
    await admin.put(`/api/admin/confusable-names/${name}`)
    const id = await upload(alice, await packageArchive({ name, version: '1.0.0' }))
    const answers: number[] = []
    await interleave(app, round, [
      () => finish(alice, id).then(({ status }) => answers.push(status)),
      () => admin.delete(`/api/admin/confusable-names/${name}`).then(({ status }) => answers.push(status)),
    ])
    expect(answers.every((status) => status === 200)).toBe(false)
  }
})

it('holds the restoration of a freed name, and restores a name that is still reserved without asking for it', async () => {
  const upstream = await Upstream.start()
  upstream.publish('http', '1.0.0')
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishOwn(app, alice, { name: 'http', version: '1.0.0' })
  const restore = async () => {
    const { nodes } = (await admin.graphql('{ deletedPackages(first: 1) { nodes { id } } }')).body.data.deletedPackages
    return admin.graphql('mutation ($id: ID!) { restoreDeletedPackage(input: { id: $id }) { package { name } } }', { id: nodes[0].id })
  }
  const requests = upstream.count()
  await admin.delete('/api/admin/packages/http')
  expect((await restore()).body.errors).toBeUndefined()
  expect(upstream.count()).toBe(requests)
  await admin.delete('/api/admin/packages/http?freeName=true')
  expect((await restore()).body.errors).toMatchObject([{ extensions: { code: 'PackageRejected' } }])
  expect(await alice.get(`/mirror${listingPath('http')}`)).toMatchObject({ status: 200 })
  await admin.put('/api/admin/confusable-names/http')
  expect((await restore()).body.errors).toBeUndefined()
  expect(await alice.get('/api/packages/http')).toMatchObject({ status: 200 })
})
