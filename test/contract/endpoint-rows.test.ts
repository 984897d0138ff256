import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

// One test for each row of the interface's tables of packages, publishers and server settings. The tests of each feature cover the details; here,
// sections name the rows.

let app: TestApp
let [owner, admin, alice, bob, stranger] = [] as unknown as [Actor, Actor, Actor, Actor, Actor]
beforeAll(async () => {
  app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  ;[owner, admin, alice, bob, stranger] = [await app.owner(), await app.admin(), await app.member(), await app.member(), await app.member()]
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  await admin.post('/api/publishers', { id: 'corp', displayName: 'Corp' })
  await admin.put(`/api/publishers/corp/members/${alice.id}`, { role: 'admin' })
})
afterAll(() => app[Symbol.asyncDispose]())

const ok = (body: object = {}) => ({ status: 200, body })
const failed = (status: number, code: string, message: unknown = expect.any(String)) => ({ status, body: { error: { code, message } } })
const forbidden = failed(403, 'InsufficientPermissions')
const missing = failed(401, 'MissingAuthentication')

describe('statistics and health', () => {
  it('GET /api/admin/stats: returns statistics to administrators', async () => {
    expect(await admin.get('/api/admin/stats')).toMatchObject(
      ok({
        counts: { packages: expect.any(Number) },
        disk: { database: expect.any(Object) },
        database: { available: expect.any(Boolean) },
      }),
    )
    expect(await alice.get('/api/admin/stats')).toMatchObject(forbidden)
    expect(await app.anonymous.get('/api/admin/stats')).toMatchObject(missing)
  })

  it('GET /api/v1/health: returns 200 and ok, or 503 and degraded when a check fails, to everyone', async () => {
    const check = { status: 'ok', latencyMs: expect.any(Number) }
    expect(await app.anonymous.get('/api/v1/health')).toMatchObject(
      ok({
        status: 'ok',
        checks: { metadata_store: check, blob_store: check, search_index: check },
        version: expect.any(String),
        timestamp: expect.stringMatching(/Z$/),
      }),
    )
    await using broken = await testApp()
    await broken.services.database.orm.em.getConnection().execute('alter table package_search_documents rename to lost')
    expect(await broken.anonymous.get('/api/v1/health')).toMatchObject({
      status: 503,
      body: { status: 'degraded', checks: { metadata_store: { status: 'ok' }, search_index: { status: 'error' } } },
    })
  })
})

describe('package removal and public packages', () => {
  it('DELETE /api/admin/packages/{package}/versions/{version}: deletes the version and its archive for administrators', async () => {
    for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'doomed', version })
    const path = '/api/admin/packages/doomed/versions/1.1.0'
    expect(await alice.delete(path)).toMatchObject(forbidden)
    expect(await app.anonymous.delete(path)).toMatchObject(missing)
    expect(await admin.delete(path)).toMatchObject({ status: 200 })
    expect(await alice.get('/api/packages/doomed')).toMatchObject(ok({ latest: { version: '1.0.0' } }))
    expect(await alice.get('/api/archives/doomed-1.1.0.tar.gz')).toMatchObject(failed(404, 'NotFound'))
    expect(await admin.delete(path)).toMatchObject(failed(404, 'NotFound'))
  })

  it('DELETE /api/admin/packages/{package}: deletes all versions, archives and search entries for administrators', async () => {
    const path = '/api/admin/packages/doomed'
    expect(await alice.delete(path)).toMatchObject(forbidden)
    expect(await app.anonymous.delete(path)).toMatchObject(missing)
    expect(await admin.delete(path)).toMatchObject({ status: 200 })
    for (const gone of ['/api/packages/doomed', '/api/archives/doomed-1.0.0.tar.gz'])
      expect(await alice.get(gone)).toMatchObject(failed(404, 'NotFound'))
    expect((await alice.get('/api/search?q=doomed')).body.totalCount).toBe(0)
  })

  it('GET /api/admin/public-packages: returns the status to administrators', async () => {
    expect(await admin.get('/api/admin/public-packages')).toMatchObject(
      ok({ permittedByEnvironment: true, enabled: false, requiresServerAdmin: false, totalPackages: 1, publicPackages: 0 }),
    )
    expect(await alice.get('/api/admin/public-packages')).toMatchObject(forbidden)
    expect(await app.anonymous.get('/api/admin/public-packages')).toMatchObject(missing)
  })

  it('PUT /api/admin/public-packages: switches for administrators, recorded in the audit log', async () => {
    const set = (actor: Actor, enabled: unknown) => actor.put('/api/admin/public-packages', { enabled })
    expect(await set(alice, true)).toMatchObject(forbidden)
    expect(await set(admin, 'yes')).toMatchObject(failed(400, 'InvalidInput', expect.stringContaining('enabled')))
    expect(await set(admin, true)).toMatchObject(ok({ enabled: true }))
    expect(await set(admin, false)).toMatchObject(ok({ enabled: false }))
    const { entries } = (await admin.get('/api/admin/audit-log?kind=server.')).body
    expect(entries.slice(0, 2).map(({ kind }: { kind: string }) => kind)).toEqual([
      'server.public_packages_disabled',
      'server.public_packages_enabled',
    ])
  })
})

describe('publishers', () => {
  it('PUT /api/publishers/{id}: changes any field for admins of the publisher', async () => {
    const details = {
      displayName: 'The Corp',
      description: 'Makes things',
      websiteUrl: 'https://corp.example',
      contactEmail: 'us@corp.example',
    }
    expect(await alice.put('/api/publishers/corp', details)).toMatchObject(ok({ id: 'corp', ...details }))
    expect(await alice.put('/api/publishers/corp', { displayName: 'Corp' })).toMatchObject(ok({ ...details, displayName: 'Corp' }))
    expect(await stranger.put('/api/publishers/corp', details)).toMatchObject(forbidden)
  })

  it('PUT /api/publishers/{id}/members/{userId}: adds a member or changes the role', async () => {
    const path = `/api/publishers/corp/members/${bob.id}`
    for (const role of ['member', 'admin', 'member']) {
      expect(await alice.put(path, { role })).toMatchObject({ status: 200 })
      const { members } = (await alice.get('/api/publishers/corp')).body
      expect(members.find(({ userId }: { userId: string }) => userId === bob.id)).toMatchObject({ role })
    }
    expect(await bob.put(`/api/publishers/corp/members/${stranger.id}`, { role: 'member' })).toMatchObject(forbidden)
    expect(await alice.put(path, { role: 'owner' })).toMatchObject(failed(400, 'InvalidInput'))
  })

  it('DELETE /api/publishers/{id}/members/{userId}: removes a member for admins of the publisher', async () => {
    const path = `/api/publishers/corp/members/${bob.id}`
    expect(await stranger.delete(path)).toMatchObject(forbidden)
    expect(await alice.delete(path)).toMatchObject({ status: 200 })
    expect(await alice.delete(path)).toMatchObject(failed(404, 'NotFound'))
  })

  it('PUT /api/packages/{pkg}/publisher: assigns or removes the publisher for uploaders who are members', async () => {
    const give = (actor: Actor, publisherId: string | null) => actor.put('/api/packages/acme/publisher', { publisherId })
    expect(await give(stranger, 'corp')).toMatchObject(forbidden)
    expect(await give(alice, 'corp')).toMatchObject(ok({ publisherId: 'corp' }))
    expect(await give(alice, null)).toMatchObject(ok({ publisherId: null }))
  })
})

describe.each(['privacy', 'terms'])('legal page %s', (kind) => {
  it('GET /api/legal/…: returns the page to everyone', async () => {
    expect(await app.anonymous.get(`/api/legal/${kind}`)).toMatchObject(ok({ markdown: expect.stringMatching(/^# /), isCustom: false }))
  })

  it('PUT /api/admin/legal/…: sets the text for the owner and restores the default with an empty text', async () => {
    const put = (actor: Actor, markdown: string) => actor.put(`/api/admin/legal/${kind}`, { markdown })
    expect(await put(admin, 'Ours')).toMatchObject(forbidden)
    expect(await put(owner, 'Ours')).toMatchObject(ok({ markdown: 'Ours', isCustom: true }))
    expect(await put(owner, '')).toMatchObject(ok({ isCustom: false }))
  })

  it('DELETE /api/admin/legal/…: restores the built-in text for the owner', async () => {
    await owner.put(`/api/admin/legal/${kind}`, { markdown: 'Ours' })
    expect(await admin.delete(`/api/admin/legal/${kind}`)).toMatchObject(forbidden)
    expect(await owner.delete(`/api/admin/legal/${kind}`)).toMatchObject(ok({ markdown: expect.stringMatching(/^# /), isCustom: false }))
  })
})

describe('package operations', () => {
  it('PUT /api/packages/{pkg}/versions/{version}/options: retracts and restores a version', async () => {
    const set = (actor: Actor, isRetracted: boolean) => actor.put('/api/packages/acme/versions/1.1.0/options', { isRetracted })
    expect(await set(stranger, true)).toMatchObject(forbidden)
    expect(await set(alice, true)).toMatchObject(ok({ isRetracted: true, retractedAt: expect.any(String) }))
    expect(await set(alice, true)).toMatchObject(failed(409, 'Conflict'))
    expect(await set(alice, false)).toMatchObject(ok({ isRetracted: false, retractedAt: null }))
    expect(await set(alice, true)).toMatchObject({ status: 200 })
  })

  it('GET /api/packages/{pkg}: returns latest and versions, with retracted ones marked', async () => {
    const { status, body } = await stranger.get('/api/packages/acme')
    expect({ status, latest: body.latest.version }).toEqual({ status: 200, latest: '1.0.0' })
    expect(body.versions.map(({ version, retracted }: { version: string; retracted?: true }) => [version, retracted])).toEqual([
      ['1.0.0', undefined],
      ['1.1.0', true],
    ])
    expect(await stranger.get('/api/packages/nothing')).toMatchObject(failed(404, 'NotFound'))
  })

  it('GET /api/packages/{pkg}/options: includes isUnlisted', async () => {
    expect(await stranger.get('/api/packages/acme/options')).toMatchObject(ok({ isUnlisted: false }))
    await alice.put('/api/packages/acme/options', { isUnlisted: true })
    expect(await stranger.get('/api/packages/acme/options')).toMatchObject(ok({ isUnlisted: true }))
    expect((await stranger.get('/api/search?q=acme')).body.totalCount).toBe(0)
  })

  it('GET /api/packages/{pkg}/activity-log: contains retractions and restorations', async () => {
    const { status, body } = await alice.get('/api/packages/acme/activity-log')
    expect(status).toBe(200)
    const recorded = body.entries.filter(({ kind }: { kind: string }) => kind.endsWith('retracted'))
    expect(recorded.map(({ kind }: { kind: string }) => kind)).toEqual([
      'package.version_retracted',
      'package.version_unretracted',
      'package.version_retracted',
    ])
    for (const entry of recorded)
      expect(entry).toMatchObject({ version: '1.1.0', createdAt: expect.stringMatching(/Z$/), agent: { userId: alice.id } })
    expect(await stranger.get('/api/packages/acme/activity-log')).toMatchObject(forbidden)
  })
})
