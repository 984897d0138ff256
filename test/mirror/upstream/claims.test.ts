import { expect, it, vi } from 'vitest'
import type { TestApp } from '../../app.ts'
import { db } from '../../../server/platform/db/query.ts'
import { changeRows } from '../../../server/platform/db/statements.ts'
import { type EntryKey, findEntry, keyOf } from '../../../server/registry/mirror/entries.ts'
import { archivePath, listingPath, mirrorOf } from '../../support/mirror.ts'
import { Upstream } from '../../support/upstream.ts'

// Another instance is represented by the row that it writes.

const files: { key: EntryKey; path: string }[] = [
  { key: { kind: 'listing', name: 'paint' }, path: listingPath('paint') },
  { key: { kind: 'score', name: 'colors' }, path: `${listingPath('colors')}/score` },
  { key: { kind: 'advisories', name: 'colors' }, path: `${listingPath('colors')}/advisories` },
  { key: { kind: 'archive', name: 'colors', version: '1.0.0' }, path: archivePath('colors', '1.0.0') },
]

async function mirrorOfColors() {
  const upstream = await Upstream.start()
  for (const name of ['colors', 'paint']) upstream.publish(name, '1.0.0')
  upstream.advise('colors', { affected: ['1.0.0'] })
  const app = await mirrorOf(upstream, { alone: true })
  const member = await app.member()
  await member.get(`/mirror${listingPath('colors')}`)
  return { upstream, app, member }
}

const setRow = ({ services }: TestApp, key: EntryKey, row: { leased_until: Date | null; failed_at?: Date; failure?: string }) =>
  changeRows(
    services.database.fork(),
    db
      .insertInto('mirror_entries')
      .values({ key: keyOf(key), kind: key.kind, name: key.name, version: key.version ?? '', used_at: new Date(), ...row })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(row)),
  )

/** Requests a file that another instance has claimed, and returns the answer to come once the request has begun to wait. */
async function requestClaimed({ app, member }: Awaited<ReturnType<typeof mirrorOfColors>>, key: EntryKey, path: string) {
  await setRow(app, key, { leased_until: inAnHour() })
  const reads = vi.spyOn(app.services.database.reads, 'get')
  const answer = member.get(`/mirror${path}`)
  await expect.poll(() => reads.mock.calls.filter(([, read]) => read === keyOf(key)).length).toBeGreaterThan(1)
  return { answer }
}

const inAnHour = () => new Date(Date.now() + 3_600_000)

it.each(files)('is waited for while another instance fetches the $key.kind, whose failure is the answer', async ({ key, path }) => {
  const mirror = await mirrorOfColors()
  const { upstream } = mirror
  await using app = mirror.app
  const { answer } = await requestClaimed(mirror, key, path)
  await setRow(app, key, { leased_until: null, failed_at: new Date(), failure: 'status 500 for the other instance' })
  const { status, headers, raw } = await answer
  expect({ status, retry: headers['retry-after'] }).toEqual({ status: 503, retry: '10' })
  expect(String(raw)).toContain('status 500 for the other instance')
  expect(upstream.count(path)).toBe(0)
})

it.each(files)('is fetched by this instance if another one gives up the claim of the $key.kind', async ({ key, path }) => {
  const mirror = await mirrorOfColors()
  const { upstream } = mirror
  await using app = mirror.app
  const { answer } = await requestClaimed(mirror, key, path)
  await setRow(app, key, { leased_until: null })
  expect((await answer).status).toBe(200)
  expect(upstream.count(path)).toBe(1)
  expect(await findEntry(app.services, key)).toMatchObject({ sha256: expect.any(String), leasedUntil: null, failure: null })
})

it.each(files)('is fetched by this instance if another one has abandoned the claim of the $key.kind', async ({ key, path }) => {
  const { member, ...mirror } = await mirrorOfColors()
  await using app = mirror.app
  await setRow(app, key, { leased_until: new Date(Date.now() - 1000) })
  expect((await member.get(`/mirror${path}`)).status).toBe(200)
})

it.each(files)('is not waited for without a bound while another instance keeps the claim of the $key.kind', async ({ key, path }) => {
  const { member, ...mirror } = await mirrorOfColors()
  await using app = mirror.app
  app.services.state.upstreamTimes = { documentMs: 100, archiveHeadersMs: 100, archiveMs: 400, pace: { bytes: 1024, ms: 30_000 } }
  await setRow(app, key, { leased_until: inAnHour() })
  const { status, headers, raw } = await member.get(`/mirror${path}`)
  expect({ status, retry: headers['retry-after'] }).toEqual({ status: 503, retry: '10' })
  expect(String(raw)).toContain('another instance is still fetching it')
})
