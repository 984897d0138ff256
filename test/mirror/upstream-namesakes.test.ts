import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { packageArchive } from '../support/archive.ts'
import { publishArchive } from '../support/publish.ts'
import { Upstream } from '../support/upstream.ts'

const messageOf = async (actor: Actor, name: string, version = '1.0.0') => {
  const { status, body } = await publishArchive(actor, await packageArchive({ name, version }))
  expect(status).toBe(200)
  return body.success.message as string
}
const namesakeOf = async (actor: Actor, name: string) =>
  (await actor.graphql('query ($name: String!) { package(name: $name) { upstreamNamesake confusableWith } }', { name })).body.data.package

it('warns of a new name that the mirror knows from its listing, until an administrator approves it', async () => {
  const upstream = await Upstream.start()
  upstream.publish('acme_http', '1.0.0')
  await using app = await testApp({ env: { UPSTREAM_URL: upstream.url } })
  const [alice, bob, admin] = [await app.member(), await app.viewer(), await app.admin()]
  expect(await bob.get('/mirror/api/packages/acme_http')).toMatchObject({ status: 200 })
  const requests = upstream.requests.length
  const warning = `Warning: ${upstream.url} also has a package named acme_http. To depend on this one, write "hosted: ${app.config.SERVER_URL}".`
  const success = `Successfully uploaded acme_http 1.0.0: ${app.config.SERVER_URL}/packages/acme_http`
  expect(await messageOf(alice, 'acme_http')).toBe(`${success} ${warning}`)
  expect(await messageOf(alice, 'acme_http', '1.1.0')).not.toContain('Warning')
  expect(upstream.requests).toHaveLength(requests)
  const shown = { upstreamNamesake: `${upstream.url}/packages/acme_http`, confusableWith: null }
  for (const actor of [alice, bob, admin]) expect(await namesakeOf(actor, 'acme_http')).toEqual(shown)
  const listed = async () => (await admin.get('/api/admin/confusable-names')).body.names
  expect(await listed()).toMatchObject([{ name: 'acme_http', similarNames: [], isUpstream: true, requestedBy: { userId: alice.id } }])
  // From now on, the mirror refuses the name.
  expect(await bob.get('/mirror/api/packages/acme_http')).toMatchObject({ status: 403 })
  expect(await admin.put('/api/admin/confusable-names/acme_http')).toMatchObject({ status: 200 })
  expect(await listed()).toEqual([])
  expect((await namesakeOf(bob, 'acme_http')).upstreamNamesake).toBeNull()
})

it('knows names from the stored names of all packages, without a request to the upstream server', async () => {
  const upstream = await Upstream.start()
  for (const name of ['acme_kit', 'other']) upstream.publish(name, '1.0.0')
  await using app = await testApp({ alone: true, env: { UPSTREAM_URL: upstream.url } })
  const alice = await app.member()
  expect(await messageOf(alice, 'other')).not.toContain('Warning')
  expect((await alice.graphql('{ searchUpstream(query: "acme", first: 5) { name } }')).body.data.searchUpstream).toEqual([
    { name: 'acme_kit' },
  ])
  await upstream.stop()
  expect(await messageOf(alice, 'acme')).not.toContain('Warning')
  expect(await messageOf(alice, 'acme_kit')).toContain('also has a package named acme_kit')
  // Another process reads the names from the store.
  upstream.publish('acme_tools', '1.0.0')
  const { state } = app.services
  delete state.mirrorNames
  expect(await messageOf(alice, 'acme_tools')).not.toContain('also has')
  expect(state).toMatchObject({ mirrorNames: { lines: '\nacme_kit\nother\n' } })
})

it('shows both warnings, and publishes a name of the upstream server without review', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http_kits', 'widgets']) upstream.publish(name, '1.0.0')
  for (const CONFUSABLE_NAMES of ['warn', 'review']) {
    await using app = await testApp({ env: { UPSTREAM_URL: upstream.url, CONFUSABLE_NAMES } })
    const [alice, admin] = [await app.member(), await app.admin()]
    for (const name of ['http_kits', 'widgets']) await alice.get(`/mirror/api/packages/${name}`)
    expect(await messageOf(alice, 'widgets')).toContain('also has a package named widgets')
    await messageOf(alice, 'http_kit')
    const { status, body } = await publishArchive(alice, await packageArchive({ name: 'http_kits', version: '1.0.0' }))
    if (CONFUSABLE_NAMES === 'review') expect({ status, body }).toMatchObject({ status: 400, body: { error: { code: 'PackageRejected' } } })
    else {
      expect(body.success.message).toMatch(
        / Warning: http\S+ also has a package named http_kits\..* Warning: this name could be confused with http_kit\. /,
      )
      expect(await namesakeOf(alice, 'http_kits')).toEqual({
        upstreamNamesake: `${upstream.url}/packages/http_kits`,
        confusableWith: ['http_kit'],
      })
      expect((await admin.get('/api/admin/confusable-names?q=http_kits')).body.names).toMatchObject([
        { similarNames: ['http_kit'], isUpstream: true },
      ])
    }
  }
})
