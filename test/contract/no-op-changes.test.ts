import { expect, it } from 'vitest'
import { publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

it('treats a request without changes as a no-op: same revision and date, and no audit entry', async () => {
  await using app = await publicApp({ now: new Date('2026-01-01T00:00:00Z') })
  const [alice, bob] = [await app.member(), await app.member()]
  await (await app.admin()).post('/api/publishers', { id: 'team', displayName: 'Team' })
  await (await app.admin()).put(`/api/publishers/team/members/${alice.id}`, { role: 'admin' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const look = async () => {
    const pkg = await app.services.database.reads.get('select revision, updated_at from packages')
    const indexed = await app.services.database.reads.get('select updated_at from package_search_documents')
    return { pkg, indexed, entries: (await alice.get('/api/packages/acme/activity-log')).body.entries.length as number }
  }
  const later = () => (app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 60_000))
  for (const [path, body] of [
    ['options', { isDiscontinued: true, replacedBy: 'better' }],
    ['options', { isDiscontinued: false }],
    ['options', { isUnlisted: true }],
    [`uploaders/${bob.email}`, undefined],
    ['publisher', { publisherId: 'team' }],
    ['publisher', { publisherId: null }],
    ['visibility', { visibility: 'public', confirm: 'acme' }],
    ['visibility', { visibility: 'private', confirm: 'acme' }],
  ] as const) {
    const before = await look()
    later()
    const first = await alice.put(`/api/packages/acme/${path}`, body)
    const changed = await look()
    expect({ path, body, status: first.status }).toEqual({ path, body, status: 200 })
    expect(changed.entries).toBeGreaterThan(before.entries)
    expect(changed.pkg).not.toEqual(before.pkg)
    expect(changed.indexed).not.toEqual(before.indexed)
    later()
    const second = await alice.put(`/api/packages/acme/${path}`, body)
    expect({ path, body, status: second.status, after: await look() }).toEqual({ path, body, status: 200, after: changed })
  }
  const before = await look()
  await alice.put('/api/packages/acme/options', {})
  expect(await look()).toEqual(before)
})
