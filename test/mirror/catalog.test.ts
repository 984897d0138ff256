import { expect, it } from 'vitest'
import { testApp, type TestApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { mirrorPolicies, type MirrorPolicies } from '../../server/registry/mirror/policies/settings.ts'
import { writeSetting } from '../../server/platform/settings/service.ts'
import { publish } from '../support/publish.ts'
import { publishOwn } from '../support/mirror.ts'
import { Upstream } from '../support/upstream.ts'

async function mirrorOf(upstream: Upstream, env: Record<string, string> = {}): Promise<TestApp> {
  return testApp({ env: { UPSTREAM_URL: upstream.url, UPSTREAM_NEVER: 'acme_*', ...env }, now: new Date('2026-11-26T12:00:00Z') })
}

const usePolicies = ({ services }: TestApp, changes: Partial<MirrorPolicies>) =>
  services.database.fork().transactional((em) => writeSetting(em, mirrorPolicies, { ...mirrorPolicies.initial, revision: 1, ...changes }))

const pkg = async (actor: Actor, name: string, fields: string) =>
  (await actor.graphql(`query ($name: String!) { upstreamPackage(name: $name) { ${fields} } }`, { name })).body.data.upstreamPackage

const found = async (actor: Actor, query: string, first = 10) =>
  (
    await actor.graphql('query ($query: String!, $first: Int!) { searchUpstream(query: $query, first: $first) { name description } }', {
      query,
      first,
    })
  ).body

it('describes a package, its versions and its publisher, also after the upstream server has stopped', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0', { published: new Date('2025-02-03T04:05:06Z') })
  upstream.publish('colors', '2.0.0', {
    pubspec: { description: 'Colors for terminals.', repository: 'https://github.com/example/colors', topics: ['terminal'] },
    files: { 'README.md': '# Colors\n\n[Guide](doc/guide.md)' },
  })
  upstream.retract('colors', '1.0.0')
  upstream.discontinue('colors', 'paint')
  upstream.advise('colors', { affected: ['1.0.0'], fixed: '2.0.0' })
  upstream.package('colors').publisher = 'example.com'
  await using app = await mirrorOf(upstream)
  const viewer = await app.viewer()
  const fields = `name url description repository topics isDiscontinued replacedBy staleSince publisher licenses
    latest { version isCached sdkConstraint } advisories { osvId severity affectsLatest affectedVersions fixedVersions }
    versions(first: 10) { totalCount nodes { version publishedAt isRetracted isRefused verdicts { rule } } } readme`
  const described = await pkg(viewer, 'colors', fields)
  expect(described).toMatchObject({
    name: 'colors',
    url: `${upstream.url}/packages/colors`,
    description: 'Colors for terminals.',
    repository: 'https://github.com/example/colors',
    topics: ['terminal'],
    isDiscontinued: true,
    replacedBy: 'paint',
    staleSince: null,
    publisher: 'example.com',
    licenses: ['bsd-3-clause'],
    latest: { version: '2.0.0', sdkConstraint: '>=3.0.0 <4.0.0' },
    advisories: [
      { osvId: 'GHSA-aaaa-bbbb-cccc', severity: 'HIGH', affectsLatest: false, affectedVersions: ['1.0.0'], fixedVersions: ['2.0.0'] },
    ],
    versions: {
      totalCount: 2,
      nodes: [
        { version: '2.0.0', isRetracted: false, isRefused: false, verdicts: [] },
        { version: '1.0.0', publishedAt: '2025-02-03T04:05:06.000Z', isRetracted: true },
      ],
    },
  })
  expect(described.readme).toContain('href="https://github.com/example/colors/blob/HEAD/doc/guide.md"')
  await upstream.stop()
  app.clock.now = new Date('2026-11-26T13:00:00Z')
  expect(await pkg(viewer, 'colors', 'latest { version isCached } staleSince readme')).toEqual({
    latest: { version: '2.0.0', isCached: true },
    staleSince: '2026-11-26T12:00:00.000Z',
    readme: described.readme,
  })
})

it('shows what the policies say about each version, and the latest version that they allow', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0', { files: { 'README.md': 'First.' } })
  upstream.publish('colors', '2.0.0', { published: new Date('2026-11-26T11:00:00Z'), files: { 'README.md': 'Second.' } })
  await using app = await mirrorOf(upstream)
  const viewer = await app.viewer()
  const fields =
    'latest { version } newest { version } readme versions(first: 1) { nodes { version isRefused verdicts { rule isEnforced effect reason until } } }'
  await usePolicies(app, { minimumAge: { ...mirrorPolicies.initial.minimumAge, mode: 'enforce', hide: true } })
  const shown = await pkg(viewer, 'colors', fields)
  expect([shown.latest.version, shown.newest.version]).toEqual(['1.0.0', '2.0.0'])
  expect(shown.readme).toContain('First.')
  const until = '2026-12-03T11:00:00.000Z'
  expect(shown.versions.nodes[0]).toMatchObject({
    version: '2.0.0',
    isRefused: true,
    verdicts: [{ rule: 'minimumAge', isEnforced: true, effect: 'REFUSE', until }],
  })
  expect(shown.versions.nodes[0].verdicts[0].reason).toContain('younger than 7 days')
  await usePolicies(app, { packages: { mode: 'enforce', allow: [], deny: [{ name: 'colors', publisher: null, versions: null }] } })
  const refused = await pkg(viewer, 'colors', fields)
  expect(refused).toMatchObject({ latest: null, readme: null, versions: { nodes: [{ isRefused: true }] } })
  expect(upstream.count('/api/archives/colors-2.0.0.tar.gz')).toBe(0)
})

it('never requests own and excluded names from the upstream server', async () => {
  const upstream = await Upstream.start()
  for (const name of ['widgets', 'acme_core', 'colors']) upstream.publish(name, '9.0.0')
  await using app = await mirrorOf(upstream)
  const [admin, member] = [await app.admin(), await app.member()]
  await publishOwn(app, member, { name: 'widgets', version: '1.0.0' })
  for (const name of ['widgets', 'acme_core', '../etc', '']) expect(await pkg(member, name, 'name')).toBeNull()
  for (const name of ['widgets', 'acme_core']) {
    const answer = await admin.graphql(
      'mutation ($name: String!) { refreshMirroredPackage(input: { name: $name }) { package { name } } }',
      { name },
    )
    expect(answer.body.errors[0].extensions.code).toBe('NotFound')
  }
  expect((await found(member, 'c')).data.searchUpstream).toEqual([{ name: 'colors', description: null }])
  expect((await found(member, 'widgets')).data.searchUpstream).toEqual([])
  expect(upstream.mentions('widgets') || upstream.mentions('acme_core')).toBe(false)
})

it('finds names in the order exact match, prefix, part', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http', 'http_parser', 'my_http', 'path', 'shelf_http']) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream)
  const viewer = await app.viewer()
  await pkg(viewer, 'my_http', 'name')
  expect((await found(viewer, ' HTTP ')).data.searchUpstream).toEqual([
    { name: 'http', description: null },
    { name: 'http_parser', description: null },
    { name: 'my_http', description: 'The package my_http, made for tests of the mirror.' },
    { name: 'shelf_http', description: null },
  ])
  expect((await found(viewer, 'http', 2)).data.searchUpstream.map(({ name }: { name: string }) => name)).toEqual(['http', 'http_parser'])
  for (const nothing of ['', 'ht tp', 'a\nb', '%']) expect((await found(viewer, nothing)).data.searchUpstream).toEqual([])
  for (const first of [0, 11]) expect((await found(viewer, 'http', first)).errors[0].extensions.code).toBe('InvalidInput')
  expect(upstream.count('/api/package-name-completion-data')).toBe(1)
})

it('finds names with capitals and underscores in any spelling, except spellings of own and excluded names', async () => {
  const upstream = await Upstream.start()
  for (const name of ['Autolinker', 'Acme_Tools', 'Widgets', '_Mixed', '_fe_shared', 'autolink', 'my_autolinker'])
    upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  await publishOwn(app, member, { name: 'widgets', version: '1.0.0' })
  const names = async (query: string) => (await found(member, query)).data.searchUpstream.map(({ name }: { name: string }) => name)
  for (const query of ['Autolinker', 'autolinker', 'AUTOLINKER']) expect(await names(query)).toEqual(['Autolinker', 'my_autolinker'])
  for (const query of ['Autolink', 'autolink']) expect(await names(query)).toEqual(['autolink', 'Autolinker', 'my_autolinker'])
  for (const query of ['_Mixed', '_mixed', 'ixE']) expect(await names(query)).toEqual(['_Mixed'])
  for (const query of ['_fe', 'FE_shared']) expect(await names(query)).toEqual(['_fe_shared'])
  for (const query of ['widgets', 'Widgets', 'acme', 'Acme_Tools']) expect(await names(query)).toEqual([])
  const { packages } = (await member.get('/mirror/api/package-name-completion-data')).body
  expect(packages.toSorted()).toEqual(['Autolinker', '_Mixed', '_fe_shared', 'autolink', 'my_autolinker'])
  const refresh = 'mutation ($name: String!) { refreshMirroredPackage(input: { name: $name }) { package { name } } }'
  expect((await (await app.admin()).graphql(refresh, { name: 'Widgets' })).body.errors[0].extensions.code).toBe('NotFound')
})

it.each(['Autolinker', 'autolinker', 'AUTO*'])('applies a policy that names %s to Autolinker', async (name) => {
  const upstream = await Upstream.start()
  upstream.publish('Autolinker', '1.0.0')
  await using app = await mirrorOf(upstream)
  const [admin, member] = [await app.admin(), await app.member()]
  const packages = { mode: 'enforce', allow: [], deny: [{ name, publisher: null, versions: null }] }
  expect((await admin.put('/api/admin/mirror/policies', { packages })).status).toBe(200)
  expect((await member.get('/mirror/api/packages/Autolinker')).status).toBe(403)
})

it('lists the packages of this server that use an upstream package', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  const mirror = 'http://localhost:8080/mirror'
  await using app = await mirrorOf(upstream, { ALLOWED_HOSTED_URLS: `${upstream.url},${mirror},http://elsewhere.example` })
  const member = await app.member()
  const using = (name: string, hosted?: string) =>
    publish(member, {
      name,
      version: '1.0.0',
      manifest: `name: ${name}\nversion: 1.0.0\ndescription: Uses colors.\nenvironment:\n  sdk: ^3.0.0\ndependencies:\n  colors: ${hosted === undefined ? '^1.0.0' : `{ hosted: "${hosted}", version: ^1.0.0 }`}\n`,
    })
  await using('bare')
  await using('mirrored', mirror)
  await using('upstream_user', upstream.url)
  await using('elsewhere', 'http://elsewhere.example')
  await using('own', app.config.SERVER_URL)
  const fields = 'usedBy(first: 10) { totalCount nodes { package { name } version constraint kind } }'
  const { usedBy } = await pkg(await app.viewer(), 'colors', fields)
  expect(usedBy.totalCount).toBe(3)
  expect(usedBy.nodes[0]).toEqual({ package: { name: 'bare' }, version: '1.0.0', constraint: '^1.0.0', kind: 'DIRECT' })
  expect(usedBy.nodes.map((node: { package: { name: string } }) => node.package.name)).toEqual(['bare', 'mirrored', 'upstream_user'])
})

it('answers only callers who may read the mirror', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  const queries = ['mirror { url }', 'upstreamPackage(name: "colors") { name }', 'searchUpstream(query: "colors", first: 1) { name }']
  await using app = await mirrorOf(upstream, { PUBLIC_PACKAGES_ENABLED: 'true' })
  for (const query of queries) {
    const answer = await app.anonymous.graphql(`{ ${query} }`)
    expect(answer.body.errors[0].extensions.code).toBe('MissingAuthentication')
  }
  const asked = 'mirror { url upstreamUrl access } server { mirrorHost }'
  expect((await app.anonymous.graphql('{ server { mirrorHost } }')).body.data.server.mirrorHost).toBeNull()
  expect((await (await app.viewer()).graphql(`{ ${asked} }`)).body.data).toEqual({
    mirror: { url: `${app.config.SERVER_URL}/mirror`, upstreamUrl: upstream.url, access: 'TOKEN' },
    server: { mirrorHost: new URL(upstream.url).host },
  })
  await using open = await mirrorOf(upstream, { UPSTREAM_ACCESS: 'open' })
  expect(await pkg(open.anonymous, 'colors', 'name latest { version }')).toEqual({ name: 'colors', latest: { version: '1.0.0' } })
  const refused = await open.anonymous.graphql('{ upstreamPackage(name: "colors") { usedBy(first: 1) { totalCount } } }')
  expect(refused.body.errors[0].extensions.code).toBe('MissingAuthentication')
  await using without = await testApp()
  const { body } = await (await without.admin()).graphql(`{ ${asked} ${queries[1]} ${queries[2]} }`)
  expect(body.data).toEqual({ mirror: null, server: { mirrorHost: null }, upstreamPackage: null, searchUpstream: [] })
})

it('describes a package without its advisories and publisher if the upstream server does not send them', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0', { files: { 'README.md': 'Colors.' } })
  upstream.advise('colors', { affected: ['1.0.0'] })
  await using app = await mirrorOf(upstream)
  const viewer = await app.viewer()
  await pkg(viewer, 'colors', 'name')
  await upstream.stop()
  expect(await pkg(viewer, 'colors', 'latest { version } advisories { osvId } publisher licenses')).toEqual({
    latest: { version: '1.0.0' },
    advisories: null,
    publisher: null,
    licenses: [],
  })
  const { body } = await viewer.graphql('{ upstreamPackage(name: "colors") { name readme } }')
  expect(body.errors[0].extensions.code).toBe('ServiceUnavailable')
  expect(body.data.upstreamPackage).toEqual({ name: 'colors', readme: null })
})

it('fetches no large archive for its README, and shows none of a damaged one', async () => {
  const upstream = await Upstream.start()
  upstream.publish('huge', '1.0.0', { archive: Buffer.alloc(21 * 1024 ** 2) })
  upstream.publish('broken', '1.0.0', { archive: Buffer.from('not an archive') })
  await using app = await mirrorOf(upstream)
  const viewer = await app.viewer()
  expect(await pkg(viewer, 'huge', 'readme latest { isCached }')).toEqual({ readme: null, latest: { isCached: false } })
  expect(await pkg(viewer, 'broken', 'readme')).toEqual({ readme: null })
  expect(await pkg(viewer, 'huge', 'latest { isCached }')).toEqual({ latest: { isCached: false } })
  expect(await pkg(viewer, 'broken', 'latest { isCached }')).toEqual({ latest: { isCached: true } })
})
