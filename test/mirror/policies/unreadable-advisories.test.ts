import { describe, expect, it } from 'vitest'
import { exportMirror } from '../../../server/operations/mirror/export.ts'
import { importMirror } from '../../../server/operations/mirror/import.ts'
import type { MirrorPolicies } from '../../../server/registry/mirror/policies/settings.ts'
import { folderOfTest } from '../../support/backups.ts'
import { archivePath, changePolicies, decisionsOf, listingPath, mirrorOf, passMinutes } from '../../support/mirror.ts'
import { alter, failWith, send, type UpstreamFault } from '../../support/upstream-faults.ts'
import { Upstream } from '../../support/upstream.ts'

const document = listingPath('colors') + '/advisories'
const path = `/mirror${listingPath('colors')}`

/** Starts a mirror of two packages with an advisory each. That of `colors` is changed; both are about the version 1.0.0 only. */
async function mirrorWith(fault: UpstreamFault | null, mode: MirrorPolicies['advisories']['mode']) {
  const upstream = await Upstream.start()
  for (const name of ['colors', 'shapes']) {
    for (const version of ['1.0.0', '1.1.0']) upstream.publish(name, version)
    upstream.advise(name, { affected: ['1.0.0'], fixed: '1.1.0' })
  }
  if (fault) upstream.fail(document, fault)
  const app = await mirrorOf(upstream, { alone: true })
  await changePolicies(app, { advisories: { mode } })
  const member = await app.member()
  const versions = async (name: string) =>
    (await member.get(`/mirror${listingPath(name)}`)).body.versions?.map(({ version }: { version: string }) => version)
  return { app, upstream, member, versions, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

type Change = Parameters<typeof alter>[0]
const changed = (change: Change) => alter((sent) => change(sent.advisories[0]))
const entry = (change: Change) => changed(({ affected }) => change(affected[0]))
const events = (...list: unknown[]) =>
  entry((affected) => void Object.assign(affected, { versions: null, ranges: [{ type: 'SEMVER', events: list }] }))

const unreadable: [string, UpstreamFault][] = [
  ['a text in place of the list', alter((sent) => void (sent.advisories = 'x'))],
  ['no list', alter((sent) => void delete sent.advisories)],
  ['null in place of the list', alter((sent) => void (sent.advisories = null))],
  ['an object in place of the list', alter((sent) => void (sent.advisories = {}))],
  ['null in the list', alter((sent) => void sent.advisories.push(null))],
  ['a text in the list', alter((sent) => void sent.advisories.push('GHSA-1'))],
  ['an object without fields', send('{}')],
  ['no id', changed((advisory) => void delete advisory.id)],
  ['a number as id', changed((advisory) => void (advisory.id = 5))],
  ['an id with spaces', changed((advisory) => void (advisory.id = 'no id'))],
  ['modified without a date', changed((advisory) => void (advisory.modified = 'nonsense'))],
  ['modified null', changed((advisory) => void (advisory.modified = null))],
  ['withdrawn without a date', changed((advisory) => void (advisory.withdrawn = 'yes'))],
  ['withdrawn true', changed((advisory) => void (advisory.withdrawn = true))],
  ['affected as a text', changed((advisory) => void (advisory.affected = 'x'))],
  ['affected null', changed((advisory) => void (advisory.affected = null))],
  ['affected empty', changed((advisory) => void (advisory.affected = []))],
  ['affected with null', changed((advisory) => void (advisory.affected = [null]))],
  ['another package', entry((affected) => void (affected.package.name = 'shapes'))],
  ['another ecosystem', entry((affected) => void (affected.package.ecosystem = 'npm'))],
  ['no package', entry((affected) => void delete affected.package)],
  ['neither ranges nor versions', entry((affected) => void Object.assign(affected, { ranges: null, versions: null }))],
  ['only a range of commits', entry((affected) => void Object.assign(affected, { ranges: [{ type: 'GIT', events: [] }], versions: null }))],
  ['ranges as a text', entry((affected) => void (affected.ranges = 'all'))],
  ['a range of an unknown type', entry((affected) => void (affected.ranges[0].type = 'OTHER'))],
  ['versions in words', entry((affected) => void (affected.versions = ['one']))],
  ['versions as a text', entry((affected) => void (affected.versions = '1.0.0'))],
  ['no events', events()],
  ['a text in place of an event', events({ introduced: '0' }, 'fixed')],
  ['an event without a version', events({ introduced: null, fixed: null })],
  ['an event with a wrong version', events({ introduced: 'first' })],
  ['events without a beginning', events({ fixed: '1.1.0' })],
  ['a severity as a text', changed((advisory) => void (advisory.severity = 'HIGH'))],
  ['a score that is a number', changed((advisory) => void (advisory.severity[0].score = 9.8))],
  ['a severity that is a number', changed((advisory) => void (advisory.database_specific.severity = 5))],
  [
    'a severity of its own',
    changed((advisory) => void Object.assign(advisory, { severity: null, database_specific: { severity: 'extreme' } })),
  ],
  [
    'a vector that cannot be read',
    changed(
      (advisory) => void Object.assign(advisory, { severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:?' }], database_specific: null }),
    ),
  ],
]

const refusal = /^colors is not available, because security advisories about it cannot be read: [\x20-\x7e]+\.$/

describe('advisories of which one cannot be read', () => {
  it.each(unreadable)('refuse the package while the policy is enforced: %s', async (_what, fault) => {
    await using mirror = await mirrorWith(fault, 'enforce')
    for (const one of [path, `${path}/versions/1.1.0`, `/mirror${archivePath('colors', '1.1.0')}`, `${path}/advisories`]) {
      const { status, body } = await mirror.member.get(one)
      expect({ one, status, message: body.error?.message }).toEqual({ one, status: 403, message: expect.stringMatching(refusal) })
    }
    const { body } = await mirror.member.graphql('{ upstreamPackage(name: "colors") { latest { version } } }')
    expect(body.data.upstreamPackage).toEqual({ latest: null })
    expect(await mirror.versions('shapes')).toEqual(['1.1.0'])
    const faults = (await decisionsOf(mirror.app)).filter(({ outcome }) => outcome === 'fault')
    expect(faults).toMatchObject([
      { rule: 'advisories', package_name: 'colors', reason: expect.stringMatching(/^The advisories about colors cannot/) },
    ])
    // A corrected document counts as soon as it is there.
    mirror.upstream.heal(document)
    passMinutes(mirror.app, 11)
    expect(await mirror.versions('colors')).toEqual(['1.1.0'])
    expect((await mirror.member.get(`${path}/advisories`)).status).toBe(200)
  })

  it.each([...unreadable.slice(0, 8), ...unreadable.slice(10, 14)])('are only reported without the policy: %s', async (_what, fault) => {
    await using mirror = await mirrorWith(fault, 'off')
    expect(await mirror.versions('colors')).toEqual(['1.0.0', '1.1.0'])
    const { status, body } = await mirror.member.get(`${path}/advisories`)
    expect({ status, isList: Array.isArray(body.advisories) }).toEqual({ status: 200, isList: true })
    expect(await decisionsOf(mirror.app)).toMatchObject([{ outcome: 'fault', rule: 'advisories', package_name: 'colors' }])
    expect(mirror.app.lines.filter((line) => line.includes('mirror: The advisories about colors cannot be read'))).toHaveLength(1)
  })

  it('are recorded in audit mode', async () => {
    await using mirror = await mirrorWith(unreadable[0]?.[1] ?? null, 'audit')
    expect(await mirror.versions('colors')).toEqual(['1.0.0', '1.1.0'])
    expect((await mirror.member.get(`/mirror${archivePath('colors', '1.1.0')}`)).status).toBe(200)
    expect((await decisionsOf(mirror.app)).map(({ outcome }) => outcome).toSorted()).toEqual(['audited', 'fault'])
  })

  it('are reported when the console reads them', async () => {
    await using mirror = await mirrorWith(
      changed((advisory) => void (advisory.modified = 'nonsense')),
      'off',
    )
    const { body } = await mirror.member.graphql('{ upstreamPackage(name: "colors") { advisories { osvId } } }')
    expect(body.data.upstreamPackage).toEqual({ advisories: null })
    expect(await decisionsOf(mirror.app)).toMatchObject([{ outcome: 'fault', rule: 'advisories' }])
  })

  it('replace an older document that could be read', async () => {
    await using mirror = await mirrorWith(null, 'enforce')
    expect(await mirror.versions('colors')).toEqual(['1.1.0'])
    mirror.upstream.fail(document, send('{"advisories": 1}'))
    mirror.upstream.publish('colors', '1.2.0')
    mirror.upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.1.0'], modified: new Date() })
    passMinutes(mirror.app, 11)
    expect((await mirror.member.get(path)).status).toBe(403)
  })

  it('still refuse the package after an import', async () => {
    for (const fault of [send('{"advisories": "x"}'), changed((advisory) => void (advisory.affected = 'x'))]) {
      await using mirror = await mirrorWith(fault, 'off')
      await mirror.member.get(path)
      await mirror.member.get(`${path}/advisories`)
      const folder = folderOfTest()
      await exportMirror({ services: mirror.app.services, upstream: mirror.upstream.url }, folder, () => {})
      await using other = await mirrorOf(mirror.upstream, { alone: true })
      await changePolicies(other, { advisories: { mode: 'enforce' } })
      await importMirror({ services: other.services, upstream: mirror.upstream.url }, folder, () => {})
      await mirror.upstream.stop()
      const { status, body } = await (await other.member()).get(path)
      expect({ status, message: body.error?.message }).toEqual({ status: 403, message: expect.stringMatching(refusal) })
      expect((await decisionsOf(other)).filter(({ outcome }) => outcome === 'fault')).toMatchObject([{ rule: 'advisories' }])
    }
  })
})

describe('advisories that are announced', () => {
  it('refuse the package if the upstream server does not have them', async () => {
    await using mirror = await mirrorWith(failWith(404), 'enforce')
    expect(await mirror.member.get(path)).toMatchObject({ status: 403 })
  })

  it.each(['yesterday', 5, {}, '2025-03-04 05:06:07.000'])('are read if their date is %s', async (date) => {
    await using mirror = await mirrorWith(null, 'enforce')
    mirror.upstream.fail(
      listingPath('colors'),
      alter((listing) => void (listing.advisoriesUpdated = date)),
    )
    expect(await mirror.versions('colors')).toEqual(['1.1.0'])
  })
})

const readable: [string, UpstreamFault][] = [
  [
    'null where pub.dev writes it',
    changed((advisory) => void Object.assign(advisory, { published: null, withdrawn: null, summary: null, aliases: null })),
  ],
  ['wrong texts', changed((advisory) => void Object.assign(advisory, { summary: 5, details: [], aliases: 'x', published: 'once' }))],
  ['references without addresses', changed((advisory) => void Object.assign(advisory, { references: [{ url: 'ftp://x' }] }))],
  ['another address to show', changed((advisory) => void (advisory.database_specific.pub_display_url = 'none'))],
  ['an ecosystem with a suffix', entry((affected) => void (affected.package.ecosystem = 'pub:https://pub.dev'))],
  ['packages of other ecosystems', changed(({ affected }) => void affected.push({ package: { ecosystem: 'npm', name: 5 }, ranges: 'x' }))],
  ['a score of another kind', changed((advisory) => void advisory.severity.push({ type: 'CVSS_V4', score: 'CVSS:4.0/AV:N' }))],
]

it.each(readable)('advisories are applied with %s', async (_what, fault) => {
  await using mirror = await mirrorWith(fault, 'enforce')
  expect(await mirror.versions('colors')).toEqual(['1.1.0'])
  expect((await decisionsOf(mirror.app)).filter(({ outcome }) => outcome === 'fault')).toEqual([])
})
