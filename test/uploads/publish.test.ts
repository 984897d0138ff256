import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { PubClient, PubFailure } from '../support/pub-client.ts'
import { announce, finish, publish, publishArchive, sendBytes, upload } from '../support/publish.ts'

const hostedUrl = 'http://localhost:8080'

describe('the package client', () => {
  it('publishes, lists and downloads', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl, address: await app.listen(), token: alice.secret ?? '' })
    const archive = await packageArchive({ name: 'acme', version: '1.0.0' })
    expect(await pub.publish(archive)).toBe('Successfully uploaded acme 1.0.0: http://localhost:8080/packages/acme')
    const { versions, latest } = await pub.listing('acme')
    expect(versions.map(({ version }) => version)).toEqual(['1.0.0'])
    expect(latest).toEqual(versions[0])
    expect((await pub.download('acme', '1.0.0')).equals(archive)).toBe(true)
  })

  it('works below a path prefix', async () => {
    await using app = await testApp({ env: { SERVER_URL: 'https://example.com/pub/' } })
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: 'https://example.com/pub', address: `${await app.listen()}/pub`, token: alice.secret ?? '' })
    const archive = await packageArchive({ name: 'acme', version: '1.0.0+1' })
    expect(await pub.publish(archive)).toContain('https://example.com/pub/packages/acme')
    expect((await pub.download('acme', '1.0.0+1')).equals(archive)).toBe(true)
  })

  it('shows why publishing is refused', async () => {
    await using app = await testApp()
    const address = await app.listen()
    const [viewer, stranger] = [await app.viewer(), await app.member()]
    await publish(await app.member(), { name: 'acme', version: '1.0.0' })
    const archive = await packageArchive({ name: 'acme', version: '2.0.0' })
    const client = (token?: string) => new PubClient({ hostedUrl, address, ...(token && { token }) })
    const refusal = (pub: PubClient) => pub.publish(archive).catch((error: unknown) => error)
    expect(await refusal(client())).toMatchObject({
      status: 401,
      message: expect.stringContaining('http://localhost:8080/settings/tokens'),
    })
    expect(await refusal(client('svc_pat_wrong'))).toMatchObject({ status: 401 })
    expect(await refusal(client(viewer.secret))).toMatchObject({ status: 403 })
    expect(await refusal(client(stranger.secret))).toMatchObject({
      status: 403,
      message: 'You are not an uploader of acme. Ask one of its uploaders to add you.',
    })
    await expect(client(stranger.secret).listing('nothing')).rejects.toThrow(PubFailure)
  })

  it('shows what is wrong with the package', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl, address: await app.listen(), token: alice.secret ?? '' })
    await expect(pub.publish(Buffer.from('no archive'))).rejects.toMatchObject({ status: 400, message: expect.stringContaining('gzip') })
    const elsewhere = await packageArchive({ name: 'acme', version: '1.0.0', pubspec: 'publish_to: https://pub.example.com' })
    await expect(pub.publish(elsewhere)).rejects.toMatchObject({ status: 400, message: expect.stringContaining('publish_to') })
  })
})

describe('a published version', () => {
  it('is immutable: the same bytes are accepted, others are a conflict', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
    expect(await publishArchive(alice, archive)).toMatchObject({
      status: 200,
      body: { success: { message: expect.stringContaining('acme 1.0.0') } },
    })
    const other = await packageArchive({ name: 'acme', version: '1.0.0', files: { 'README.md': 'other' } })
    expect(await publishArchive(alice, other)).toMatchObject({ status: 409, body: { error: { code: 'Conflict' } } })
    expect(await auditKinds(app)).toEqual(['package.created', 'package.version_published'])
    expect((await alice.get('/api/packages/acme')).body.versions).toHaveLength(1)
  })

  it('updates the latest version and the latest prerelease', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const latest = async () => {
      const { body } = await alice.graphql('{ package(name: "acme") { description latest { version } latestPrerelease { version } } }')
      return [body.data.package.latest.version, body.data.package.latestPrerelease?.version]
    }
    const steps = [
      ['1.0.0-dev.1', '1.0.0-dev.1', '1.0.0-dev.1'],
      ['1.0.0-dev.2', '1.0.0-dev.2', '1.0.0-dev.2'],
      ['1.0.0', '1.0.0', undefined],
      ['2.0.0-beta', '1.0.0', '2.0.0-beta'],
      ['0.9.0', '1.0.0', '2.0.0-beta'],
      ['1.1.0+2', '1.1.0+2', '2.0.0-beta'],
      ['2.0.0-alpha', '1.1.0+2', '2.0.0-beta'],
      ['2.0.0', '2.0.0', undefined],
    ] as const
    for (const [version, ...pointers] of steps) {
      await publish(alice, { name: 'acme', version })
      expect(await latest()).toEqual(pointers)
    }
  })

  it('is audited and searchable as soon as it is visible', async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const rows = await app.services.database.reads.all('select kind, actor_id, package, version, summary from audit_entries order by id')
    expect(rows).toMatchObject([
      { kind: 'package.created', actor_id: alice.id, package: 'acme', version: null },
      { kind: 'package.version_published', actor_id: alice.id, package: 'acme', version: '1.0.0' },
    ])
    expect(await app.services.database.reads.all('select name from package_search_documents')).toEqual([{ name: 'acme' }])
  })
})

describe('permissions to publish', () => {
  it('belong to uploaders and administrators', async () => {
    await using app = await testApp()
    const [alice, bob, admin, owner] = [await app.member(), await app.member(), await app.admin(), await app.owner()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const refused = await upload(bob, await packageArchive({ name: 'acme', version: '1.0.1' }))
    expect(await finish(bob, refused)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    expect(await finish(bob, refused)).toMatchObject({ status: 404 })
    await publish(admin, { name: 'acme', version: '1.0.2' })
    await publish(owner, { name: 'acme', version: '1.0.3' })
    const { body } = await alice.graphql('{ package(name: "acme") { uploaders { email } viewerCanPublish } }')
    expect(body.data.package).toEqual({ uploaders: [{ email: alice.email }], viewerCanPublish: true })
    expect((await bob.graphql('{ package(name: "acme") { viewerCanPublish } }')).body.data.package).toEqual({ viewerCanPublish: false })
  })

  it('require scope and role at every step', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const archive = await packageArchive({ name: 'acme', version: '1.0.0' })
    const uploadId = await announce(alice)
    for (const actor of [await app.withScopes(alice, ['read']), await app.viewer()]) {
      expect(await actor.get('/api/packages/versions/new')).toMatchObject({ status: 403 })
      expect(await sendBytes(actor, uploadId, archive)).toMatchObject({
        status: 403,
        headers: { 'www-authenticate': expect.stringContaining('Bearer realm="pub"') },
      })
      expect(await finish(actor, uploadId)).toMatchObject({ status: 403 })
    }
    expect(await app.anonymous.get('/api/packages/versions/new')).toMatchObject({ status: 401 })
    expect(await sendBytes(app.anonymous, uploadId, archive)).toMatchObject({ status: 401 })
    expect(await finish(app.anonymous, uploadId)).toMatchObject({ status: 401 })
  })
})

it('accepts as many dependencies as fit into a pubspec', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const names = Array.from({ length: 12_000 }, (_, index) => `d${index.toString(36)}`)
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: `dev_dependencies: {${names.join(',')}}` })
  const { dependencies } = (await alice.get('/api/packages/acme/versions/1.0.0/dependencies')).body
  expect(dependencies.map(({ name }: { name: string }) => name)).toEqual(names)
  const rows = await app.services.database.reads.get<{ count: number | string }>('select count(*) as count from package_dependencies')
  expect(Number(rows?.count)).toBe(names.length)
})

describe('concurrent publishes', () => {
  it.each([
    ['the same version of one package', true],
    ['a new name', false],
  ])('of %s: have exactly one winner with its own bytes', async (_what, exists) => {
    await using app = await testApp()
    const [alice, admin] = [await app.member(), await app.admin()]
    if (exists) await publish(alice, { name: 'acme', version: '0.1.0' })
    const archives = await Promise.all(
      ['a', 'b', 'c', 'd'].map((text) => packageArchive({ name: 'acme', version: '1.0.0', files: { 'README.md': text } })),
    )
    const actors = [alice, admin, alice, admin]
    const uploads = await Promise.all(archives.map((archive, index) => upload(actors[index] ?? alice, archive)))
    const answers = await Promise.all(uploads.map((uploadId, index) => finish(actors[index] ?? alice, uploadId)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409])
    const winner = answers.findIndex(({ status }) => status === 200)
    const stored = await alice.get('/api/archives/acme-1.0.0.tar.gz')
    expect(stored.raw.equals(archives[winner] ?? Buffer.alloc(0))).toBe(true)
    expect((await auditKinds(app)).filter((kind) => kind === 'package.created')).toHaveLength(1)
  })

  it('of the same bytes: both succeed with one version', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const archive = await packageArchive({ name: 'acme', version: '1.0.0' })
    const uploads = [await upload(alice, archive), await upload(alice, archive)]
    const answers = await Promise.all([...uploads, ...uploads].map((uploadId) => finish(alice, uploadId)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await auditKinds(app)).toEqual(['package.created', 'package.version_published'])
  })

  it('of different versions of a new name: both succeed', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const uploads = await Promise.all(
      ['1.0.0', '2.0.0'].map(async (version) => upload(alice, await packageArchive({ name: 'acme', version }))),
    )
    const answers = await Promise.all(uploads.map((uploadId) => finish(alice, uploadId)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const { body } = await alice.get('/api/packages/acme')
    expect([body.latest.version, body.versions.length]).toEqual(['2.0.0', 2])
  })
})

/** Returns the kinds of all audit entries about packages in order. */
async function auditKinds(app: Awaited<ReturnType<typeof testApp>>): Promise<string[]> {
  const rows = await app.services.database.reads.all<{ kind: string }>(
    "select kind from audit_entries where kind like 'package.%' order by id",
  )
  return rows.map(({ kind }) => kind)
}
