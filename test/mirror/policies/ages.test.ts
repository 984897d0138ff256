import { expect, it } from 'vitest'
import { exportMirror } from '../../../server/operations/mirror/export.ts'
import { importMirror } from '../../../server/operations/mirror/import.ts'
import type { TestApp } from '../../app.ts'
import { folderOfTest } from '../../support/backups.ts'
import { changePolicies, decisionsOf, listingPath, mirrorOf, passMinutes } from '../../support/mirror.ts'
import { alter } from '../../support/upstream-faults.ts'
import { Upstream } from '../../support/upstream.ts'

const now = new Date('2026-05-06T07:08:09Z')
const path = `/mirror${listingPath('colors')}`
const dayMinutes = 24 * 60

/** Starts a mirror of a package whose versions have the given dates, with a minimum age of 7 days that hides younger versions. */
async function mirrorOfDates(dates: Record<string, unknown>) {
  const upstream = await Upstream.start()
  const app = await mirrorOf(upstream, { now })
  await changePolicies(app, { minimumAge: { mode: 'enforce', days: 7, hide: true } })
  const member = await app.member()
  const publish = (more: Record<string, unknown>) => {
    Object.assign(dates, more)
    for (const version of Object.keys(more)) upstream.publish('colors', version)
  }
  publish({ '0.0.1': '2026-01-01T00:00:00Z', ...dates })
  upstream.fail(
    listingPath('colors'),
    alter((listing) => {
      for (const one of listing.versions) Object.assign(one, { published: dates[one.version] })
    }),
  )
  const versions = async () => (await member.get(path)).body.versions.map(({ version }: { version: string }) => version)
  const reason = async (version: string) => (await member.get(`${path}/versions/${version}`)).body.error?.message
  return { app, upstream, member, publish, versions, reason, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

/** Forms of 2026-05-05 07:08:09 UTC, a day ago, which say so exactly. */
const exact = [
  '2026-05-05 07:08:09.000Z',
  '2026-05-05T07:08:09.000000Z',
  '2026-05-05T07:08:09Z',
  '2026-05-05t07:08:09z',
  '2026-05-05T09:08:09+0200',
  '2026-05-05T09:08:09+02:00',
  '2026-05-05 09:08:09 +02',
  '2026-05-05T01:38:09-05:30',
  '20260505T070809Z',
  '20260505 090809,000+0200',
  '+002026-05-05T07:08:09Z',
]

it.each(exact)('counts the age from the date %s', async (date) => {
  await using mirror = await mirrorOfDates({ '1.0.0': date })
  expect(await mirror.versions()).toEqual(['0.0.1'])
  expect(await mirror.reason('1.0.0')).toBe(
    'colors 1.0.0 is younger than 7 days, the minimum age on this server. It can be used from 2026-05-12 07:09 UTC.',
  )
  passMinutes(mirror.app, 6 * dayMinutes + 1)
  const { body } = await mirror.member.get(`${path}/versions/1.0.0`)
  expect(new Date(body.published)).toEqual(new Date('2026-05-05T07:08:09Z'))
})

/** Dates that can mean several moments, and the latest of these. */
const vague = [
  ['2026-05-05 07:08:09.000', '2026-05-05 19:09'],
  ['2026-05-05T07:08:09.123456', '2026-05-05 19:09'],
  ['20260505T070809', '2026-05-05 19:09'],
  ['2026-05-05 07', '2026-05-05 19:00'],
  ['2026-05-04', '2026-05-05 12:00'],
  ['20260504', '2026-05-05 12:00'],
  ['+002026-05-04', '2026-05-05 12:00'],
]

it.each(vague)('counts the age from the latest moment that the date %s can mean', async (date, latest) => {
  await using mirror = await mirrorOfDates({ '1.0.0': date })
  expect(await mirror.versions()).toEqual(['0.0.1'])
  expect(await mirror.reason('1.0.0')).toContain(`(counted from ${latest} UTC). It can be used from`)
})

/** Values that do not say when a version was published. */
const useless = [
  undefined,
  null,
  1_764_000_000,
  1_764_000_000_000,
  true,
  {},
  '',
  'yesterday',
  '1764000000',
  '1764000000000',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
  '1970-01-01 00:00:00.000',
  '2026-13-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-05-05T99:00:00Z',
  '9999-12-31T23:59:59Z',
  '2027-05-08T00:00:00Z',
  '2026-05-20 07:08:09.000',
  '-002026-05-05T00:00:00Z',
  '2026-W19-2',
  'Tue, 05 May 2026 07:08:09 GMT',
]

it.each(useless.map((date) => ({ date })))(
  'counts the age from when the mirror first saw the version for the date $date',
  async ({ date }) => {
    await using mirror = await mirrorOfDates({ '1.0.0': date })
    expect(await mirror.versions()).toEqual(['0.0.1'])
    const reason =
      'colors 1.0.0 is younger than 7 days, the minimum age on this server (no date; first seen 2026-05-06 07:09 UTC). It can be used from 2026-05-13 07:09 UTC.'
    expect(await mirror.reason('1.0.0')).toBe(reason)
    expect(await decisionsOf(mirror.app)).toMatchObject([{ outcome: 'refused', rule: 'minimumAge', version: '1.0.0', reason }])
    // Neither another fetch nor a later version changes that.
    passMinutes(mirror.app, 3 * dayMinutes)
    mirror.publish({ '1.1.0': date })
    expect(await mirror.versions()).toEqual(['0.0.1'])
    expect(await mirror.reason('1.0.0')).toBe(reason)
    expect(await mirror.reason('1.1.0')).toContain('first seen 2026-05-09 07:09 UTC')
    passMinutes(mirror.app, 4 * dayMinutes)
    expect(await mirror.versions()).toEqual(['0.0.1', '1.0.0'])
  },
)

it('does not take a new version for older than the last listing without it', async () => {
  await using mirror = await mirrorOfDates({})
  await mirror.versions()
  passMinutes(mirror.app, 60)
  mirror.publish({ '1.0.0': '2025-01-01T00:00:00Z' })
  expect(await mirror.versions()).toEqual(['0.0.1'])
  expect(await mirror.reason('1.0.0')).toContain('(counted from 2026-05-06 07:09 UTC)')
})

it.each(['2025-01-01T00:00:00Z', '2025-01-01', null, 'nonsense'])('does not let a changed date %s make a version older', async (date) => {
  await using mirror = await mirrorOfDates({ '1.0.0': '2026-05-05T07:08:09Z', '1.1.0': null, '1.2.0': '2026-01-01T00:00:00Z' })
  expect(await mirror.versions()).toEqual(['0.0.1', '1.2.0'])
  passMinutes(mirror.app, 60)
  mirror.publish({ '1.0.0': date, '1.1.0': date, '1.2.0': '2026-05-01T00:00:00Z' })
  expect(await mirror.versions()).toEqual(['0.0.1'])
  expect(await mirror.reason('1.0.0')).toContain('can be used from 2026-05-12 07:09 UTC.')
  expect(await mirror.reason('1.1.0')).toContain('can be used from 2026-05-13 07:09 UTC.')
  expect(await mirror.reason('1.2.0')).toContain('can be used from 2026-05-08 00:00 UTC.')
})

const forget = (app: TestApp) =>
  app.services.database.fork().execute('update mirror_entries set sha256 = null, checked_at = null, bytes = 0')

it('knows when it first saw a version after the files of the mirror were lost', async () => {
  await using mirror = await mirrorOfDates({ '1.0.0': null })
  await mirror.versions()
  passMinutes(mirror.app, 3 * dayMinutes)
  // A backup contains the row, but not the file.
  await forget(mirror.app)
  expect(await mirror.reason('1.0.0')).toContain('first seen 2026-05-06 07:09 UTC')
})

it('keeps when a version was first seen in exports and imports', async () => {
  await using mirror = await mirrorOfDates({ '1.0.0': null, '1.1.0': '2026-05-05', '1.2.0': '2026-05-04T00:00:00Z' })
  await mirror.versions()
  passMinutes(mirror.app, 2 * dayMinutes)
  await mirror.versions()
  const folder = folderOfTest()
  await exportMirror({ services: mirror.app.services, upstream: mirror.upstream.url }, folder, () => {})
  await mirror.upstream.stop()
  await using other = await mirrorOf(mirror.upstream, { now: mirror.app.clock.now ?? now })
  await changePolicies(other, { minimumAge: { mode: 'enforce', days: 7, hide: true } })
  const imported = await importMirror({ services: other.services, upstream: mirror.upstream.url }, folder, () => {})
  expect(imported).toMatchObject({ imported: 1, refused: [] })
  const member = await other.member()
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) {
    const { body } = await member.get(`${path}/versions/${version}`)
    expect(body.error.message).toBe(await mirror.reason(version))
  }
})
