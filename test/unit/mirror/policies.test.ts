import { describe, expect, it } from 'vitest'
import { parseAdvisories } from '../../../server/registry/advisories/osv.ts'
import type { MirroredListing } from '../../../server/registry/mirror/listing.ts'
import { judge, needsAdvisories, needsTags, type PackageFacts } from '../../../server/registry/mirror/policies/evaluate.ts'
import { mirrorPolicies, type MirrorPolicies, type Selector } from '../../../server/registry/mirror/policies/settings.ts'
import { advisory } from '../../support/advisories.ts'
import { growthOf } from '../../support/cpu-time.ts'

const now = new Date('2026-11-26T12:00:00Z')
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
const listing = (versions: Record<string, string | null>, name = 'http'): MirroredListing => ({
  name,
  isDiscontinued: false,
  replacedBy: null,
  advisoriesUpdated: null,
  versions: Object.entries(versions).map(([version, published]) => ({
    version,
    published,
    retracted: false,
    archiveUrl: `https://pub.dev/api/archives/${name}-${version}.tar.gz`,
    sha256: null,
    pubspec: { name, version },
  })),
})
const three = listing({ '1.0.0': daysAgo(90), '1.1.0': daysAgo(8), '2.0.0-dev': daysAgo(2) })

type Changes = { [Rule in keyof MirrorPolicies]?: Partial<MirrorPolicies[Rule]> }
const policies = (changes: Changes): MirrorPolicies => {
  const { initial } = mirrorPolicies
  const rules = ['packages', 'advisories', 'licenses', 'minimumAge'] as const
  const changed = rules.map((rule) => [rule, { ...initial[rule], ...(changes[rule] && { mode: 'enforce', ...changes[rule] }) }])
  return { ...initial, ...Object.fromEntries(changed) }
}
const noFacts: PackageFacts = { advisories: [], unreadable: null, tags: null }
const osv = (...list: object[]) => parseAdvisories(JSON.stringify(list))
const select = (selector: Partial<Selector>): Selector => ({ name: null, publisher: null, versions: null, ...selector })

/** Returns the reasons by version. */
const reasons = (changes: Changes, facts: Partial<PackageFacts> = {}, of = three) => {
  const { verdicts } = judge(policies(changes), of, { ...noFacts, ...facts }, now)
  return Object.fromEntries([...verdicts].map(([version, found]) => [version, found.map(({ reason }) => reason).join(' ')]))
}

it('has nothing against any version without policies', () => {
  expect(judge(mirrorPolicies.initial, three, noFacts, now)).toEqual({ verdicts: new Map(), changesAt: null })
})

describe('the minimum age', () => {
  it('retracts younger versions until they are old enough, rounded up to the minute', () => {
    const young = listing({ '1.0.0': daysAgo(7), '1.1.0': '2026-11-24T14:05:01.5Z', '1.2.0': daysAgo(1) })
    const { verdicts, changesAt } = judge(policies({ minimumAge: { days: 7 } }), young, noFacts, now)
    expect([...verdicts.keys()]).toEqual(['1.1.0', '1.2.0'])
    expect(verdicts.get('1.1.0')).toEqual([
      {
        rule: 'minimumAge',
        mode: 'enforce',
        effect: 'retract',
        reason: 'http 1.1.0 is younger than 7 days, the minimum age on this server. It can be used from 2026-12-01 14:06 UTC.',
        until: new Date('2026-12-01T14:05:01.5Z'),
      },
    ])
    expect(changesAt).toEqual(new Date('2026-12-01T14:05:01.5Z'))
    const later = judge(policies({ minimumAge: { days: 7 } }), young, noFacts, new Date('2026-12-01T14:05:01.5Z'))
    expect([...later.verdicts.keys()]).toEqual(['1.2.0'])
  })

  it('refuses younger versions if it hides them, and has no effect in audits', () => {
    const hidden = judge(policies({ minimumAge: { hide: true } }), three, noFacts, now).verdicts
    expect([...hidden.values()]).toMatchObject([[{ effect: 'refuse', mode: 'enforce' }]])
    const audited = judge(policies({ minimumAge: { mode: 'audit' } }), three, noFacts, now)
    expect([...audited.verdicts.values()]).toMatchObject([[{ effect: 'retract', mode: 'audit' }]])
    expect(audited.changesAt).toEqual(new Date('2026-12-01T12:00:00Z'))
  })

  it('exempts names and fixes of advisories, and no versions without a date', () => {
    expect(reasons({ minimumAge: { exempt: ['other', 'ht*'] } })).toEqual({})
    expect(reasons({ minimumAge: { exempt: ['htt', '*ttps'] } })).toEqual({ '2.0.0-dev': expect.stringContaining('younger than 7 days') })
    const fixed = [{ introduced: '0' }, { fixed: '2.0.0-dev' }]
    const facts = { advisories: osv(advisory('X-1', 'http', { events: fixed })) }
    expect(reasons({ minimumAge: {} }, facts)).toEqual({})
    expect(Object.keys(reasons({ minimumAge: { exemptFixes: false } }, facts))).toEqual(['2.0.0-dev'])
    const unrelated = osv(
      advisory('X-1', 'http', { events: fixed, withdrawn: '2026-02-01T00:00:00Z' }),
      advisory('X-2', 'other', { events: fixed }),
    )
    expect(Object.keys(reasons({ minimumAge: {} }, { advisories: unrelated }))).toEqual(['2.0.0-dev'])
    expect(Object.keys(reasons({ minimumAge: {} }, {}, listing({ '1.0.0': null, '1.1.0': 'yesterday' })))).toEqual(['1.0.0', '1.1.0'])
  })

  it('has nothing against any published version with 0 days', () => {
    expect(reasons({ minimumAge: { days: 0 } }, {}, listing({ '1.0.0': now.toISOString() }))).toEqual({})
  })
})

describe('lists of packages', () => {
  it('refuses denied packages, even if they are allowed', () => {
    const denied = 'http 1.1.0 is denied on this server by the entry "ht*, versions >=1.1.0 <2.0.0".'
    const deny = [select({ name: 'ht*', versions: '>=1.1.0 <2.0.0' })]
    expect(reasons({ packages: { deny } })).toEqual({ '1.1.0': denied })
    expect(reasons({ packages: { deny, allow: [select({ name: 'http' })] } })).toEqual({ '1.1.0': denied })
    expect(reasons({ packages: { deny: [select({ name: 'other' })] } })).toEqual({})
  })

  it('allows only what the list of allowed packages selects', () => {
    const others = (version: string) => `http ${version} is not among the packages that this server allows.`
    expect(reasons({ packages: { allow: [select({ name: 'http', versions: '^1.0.0' })] } })).toEqual({ '2.0.0-dev': others('2.0.0-dev') })
    expect(Object.keys(reasons({ packages: { allow: [select({ name: 'other' })] } }))).toHaveLength(3)
    const allow = [select({ name: 'http', publisher: 'dart.dev' })]
    expect(reasons({ packages: { allow } }, { tags: ['publisher:dart.dev'] })).toEqual({})
    for (const tags of [null, [], ['publisher:evil.dev'], ['license:dart.dev']])
      expect(Object.keys(reasons({ packages: { allow } }, { tags }))).toHaveLength(3)
  })

  it('refuses the packages of a denied publisher', () => {
    const deny = [select({ publisher: 'evil.dev' })]
    expect(reasons({ packages: { deny } }, { tags: ['publisher:evil.dev'] })['1.0.0']).toBe(
      'http 1.0.0 is denied on this server by the entry "* of evil.dev".',
    )
    expect(reasons({ packages: { deny } }, { tags: ['publisher:dart.dev'] })).toEqual({})
  })

  it('refuses versions that pub cannot order if any version is denied, and does not allow them', () => {
    const odd = listing({ '01.0.0': null })
    expect(Object.keys(reasons({ packages: { deny: [select({ versions: '<0.1.0' })] } }, {}, odd))).toEqual(['01.0.0'])
    expect(Object.keys(reasons({ packages: { allow: [select({ versions: 'any' })] } }, {}, odd))).toEqual(['01.0.0'])
  })
})

describe('advisories', () => {
  const events = [{ introduced: '0' }, { fixed: '1.1.0' }]
  const rated = (severity: string | null, fields: object = {}) =>
    osv(advisory('GHSA-1', 'http', { events, ...(severity && { database_specific: { severity } }), ...fields }))

  it('refuses affected versions with the severity and the fix', () => {
    expect(reasons({ advisories: { severity: 'moderate' } }, { advisories: rated('MEDIUM') })).toEqual({
      '1.0.0': 'http 1.0.0 is affected by GHSA-1 (severity moderate), which this server does not allow. It is fixed in 1.1.0.',
    })
    expect(reasons({ advisories: { severity: 'high' } }, { advisories: rated('MODERATE') })).toEqual({})
  })

  it('treats advisories without a severity as configured', () => {
    const text =
      'http 1.0.0 is affected by GHSA-1 (no stated severity, treated as high), which this server does not allow. It is fixed in 1.1.0.'
    expect(reasons({ advisories: { unknownAs: 'high' } }, { advisories: rated(null) })).toEqual({ '1.0.0': text })
    expect(reasons({ advisories: { unknownAs: 'moderate' } }, { advisories: rated(null) })).toEqual({})
    const severity = [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N' }]
    expect(reasons({ advisories: {} }, { advisories: rated(null, { severity }) })['1.0.0']).toContain('severity high')
  })

  it('ignores withdrawn advisories and advisories about other packages', () => {
    const withdrawn = rated('CRITICAL', { withdrawn: '2026-02-01T00:00:00Z' })
    const other = osv(advisory('GHSA-2', 'other', { events, database_specific: { severity: 'CRITICAL' } }))
    expect(reasons({ advisories: { severity: 'low' } }, { advisories: [...withdrawn, ...other] })).toEqual({})
  })

  it('names the most severe advisory, and no fix if the advisory has none', () => {
    const worse = osv(advisory('GHSA-9', 'http', { versions: ['1.0.0'], database_specific: { severity: 'CRITICAL' } }))
    expect(reasons({ advisories: {} }, { advisories: [...rated('HIGH'), ...worse] })).toEqual({
      '1.0.0': 'http 1.0.0 is affected by GHSA-9 (severity critical), which this server does not allow.',
    })
  })
})

describe('licenses', () => {
  const reason = (licenses: { allow?: string[]; deny?: string[] }, tags: string[] | null) =>
    reasons({ licenses }, { tags })['1.0.0'] ?? null

  it('refuses a package if any of its licenses is denied', () => {
    const deny = ['gpl-3.0']
    expect(reason({ deny }, ['license:mit', 'license:gpl-3.0'])).toBe(
      `http 1.0.0 uses the GPL-3.0 license, which this server does not allow.`,
    )
    expect(reason({ deny, allow: ['mit'] }, ['license:mit', 'license:gpl-3.0'])).toContain('uses the GPL-3.0 license')
    expect(reason({ deny }, ['license:mit', 'license:osi-approved'])).toBeNull()
  })

  it('requires one of the allowed licenses', () => {
    const allow = ['mit', 'bsd-3-clause']
    expect(reason({ allow }, ['license:apache-2.0', 'license:mit'])).toBeNull()
    expect(reason({ allow }, ['license:apache-2.0', 'license:osi-approved'])).toBe(
      `http 1.0.0 uses the Apache-2.0 license, which this server does not allow.`,
    )
    expect(reason({ allow: ['osi-approved'] }, ['license:apache-2.0', 'license:osi-approved'])).toBeNull()
  })

  it('refuses an unknown license only if some licenses are allowed, or if it is denied', () => {
    const text = 'The license of http 1.0.0 is not recognized, which this server does not allow.'
    for (const tags of [null, [], ['sdk:dart'], ['license:unknown'], ['license:"><script>']]) {
      expect(reason({ allow: ['mit'] }, tags)).toBe(text)
      expect(reason({ deny: ['gpl-3.0'] }, tags)).toBeNull()
      expect(reason({ deny: ['unknown'] }, tags)).toBe(text)
      expect(reason({ allow: ['unknown', 'mit'] }, tags)).toBeNull()
    }
  })
})

it('returns the verdicts of all rules in their order', () => {
  const all = policies({ packages: { deny: [select({ name: 'http' })] }, licenses: { allow: ['mit'], mode: 'audit' }, minimumAge: {} })
  const { verdicts } = judge(all, three, noFacts, now)
  expect(verdicts.get('2.0.0-dev')).toMatchObject([
    { rule: 'packages', mode: 'enforce', effect: 'refuse', until: null },
    { rule: 'licenses', mode: 'audit', effect: 'refuse', until: null },
    { rule: 'minimumAge', mode: 'enforce', effect: 'retract' },
  ])
})

it('knows which facts the policies need', () => {
  expect([needsAdvisories(policies({})), needsTags(policies({}))]).toEqual([false, false])
  expect(
    [{ minimumAge: {} }, { advisories: {} }, { minimumAge: { exemptFixes: false } }].map((one) => needsAdvisories(policies(one))),
  ).toEqual([true, true, false])
  const lists = [{ publisher: 'dart.dev' }, { name: 'http' }].map((one) => needsTags(policies({ packages: { allow: [select(one)] } })))
  expect([...lists, needsTags(policies({ licenses: { deny: ['mit'] } })), needsTags(policies({ licenses: {} }))]).toEqual([
    true,
    false,
    true,
    false,
  ])
})

it('judges versions at a cost that grows with their number, not with its square', () => {
  const versions = Array.from({ length: 4000 }, (_, index) => [`1.${index}.0`, daysAgo(index / 10)])
  const large = listing(Object.fromEntries(versions))
  const small = listing(Object.fromEntries(versions.slice(0, 1000)))
  const factsOf = (count: number): PackageFacts => {
    const advisories = Array.from({ length: 20 }, (_, index) =>
      advisory(`X-${index}`, 'http', {
        events: [{ introduced: '0' }, { fixed: `1.${index * 20}.0` }],
        versions: versions.slice(0, count).map(([one]) => one ?? ''),
      }),
    )
    return { unreadable: null, advisories: osv(...advisories), tags: ['license:mit', 'publisher:dart.dev'] }
  }
  const deny = Array.from({ length: 500 }, (_, index) => select({ name: `other_${index}*`, publisher: 'dart.dev', versions: '<1.0.0' }))
  const all = policies({ packages: { deny }, advisories: { unknownAs: 'high' }, licenses: { allow: ['mit'] }, minimumAge: {} })
  const work = ([listed, facts]: [MirroredListing, PackageFacts]) => judge(all, listed, facts, now)
  expect(growthOf(work, [small, factsOf(1000)], [large, factsOf(4000)])).toBeLessThan(9)
})
