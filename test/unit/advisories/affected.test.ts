import { expect, it } from 'vitest'
import fc from 'fast-check'
import { compareParsed, known } from '../../../server/platform/pub/version.ts'
import { version } from '../../support/arbitraries.ts'
import {
  affectedAmong,
  affectedPackages,
  affectedVersions,
  fixedVersions,
  isAffected,
  parseAdvisories,
} from '../../../server/registry/advisories/osv.ts'
import { advisory } from '../../support/advisories.ts'

const entriesOf = (...events: object[]) =>
  affectedPackages(parseAdvisories(JSON.stringify(advisory('X-1', 'acme', { events })))[0] ?? never())
const never = (): never => {
  throw new Error('no advisory')
}
const published = ['0.9.0', '1.0.0-dev', '1.0.0', '1.0.0+1', '1.2.0', '1.2.1-rc.1', '1.2.1', '2.0.0-0', '2.0.0', '2.1.0']

// Source: ossf.github.io/osv-schema, "Evaluation". Versions are ordered as pub orders them.
it.each([
  ['everything', [{ introduced: '0' }], published],
  ['up to a fix', [{ introduced: '0' }, { fixed: '1.2.1' }], ['0.9.0', '1.0.0-dev', '1.0.0', '1.0.0+1', '1.2.0', '1.2.1-rc.1']],
  ['from a version on', [{ introduced: '1.2.1' }], ['1.2.1', '2.0.0-0', '2.0.0', '2.1.0']],
  ['up to a last affected version', [{ introduced: '1.0.0' }, { last_affected: '1.2.0' }], ['1.0.0', '1.0.0+1', '1.2.0']],
  ['two ranges', [{ introduced: '0' }, { fixed: '1.0.0' }, { introduced: '2.0.0' }, { fixed: '2.1.0' }], ['0.9.0', '1.0.0-dev', '2.0.0']],
  [
    'two ranges in any order',
    [{ fixed: '2.1.0' }, { introduced: '2.0.0' }, { fixed: '1.0.0' }, { introduced: '0' }],
    ['0.9.0', '1.0.0-dev', '2.0.0'],
  ],
  ['versions with lower build metadata', [{ introduced: '0' }, { fixed: '1.0.0+1' }], ['0.9.0', '1.0.0-dev', '1.0.0']],
  ['up to a limit', [{ introduced: '1.0.0' }, { limit: '1.2.0' }], ['1.0.0', '1.0.0+1']],
  ['an unlimited range', [{ introduced: '2.0.0' }, { limit: '*' }], ['2.0.0', '2.1.0']],
])('finds affected versions: %s', (_what, events, expected) => {
  expect(affectedVersions(entriesOf(...events), published)).toEqual(expected)
})

it('returns explicitly listed versions in order and without duplicates', () => {
  const text = JSON.stringify(
    advisory('X-1', 'acme', { events: [{ introduced: '2.0.0' }, { fixed: '2.1.0' }], versions: ['3.0.0', '0.1.0', '2.0.0'] }),
  )
  const entries = affectedPackages(parseAdvisories(text)[0] ?? never())
  expect(affectedVersions(entries, published)).toEqual(['0.1.0', '2.0.0', '3.0.0'])
  expect(fixedVersions(entries)).toEqual(['2.1.0'])
  expect(entries.map((entry) => isAffected(entry, 'no version'))).toEqual([false])
})

it('ignores ranges of Git commits', () => {
  const commits = { type: 'GIT', repo: 'https://example.com/acme', events: [{ introduced: '0' }, { fixed: 'deadbeef' }] }
  const text = JSON.stringify(advisory('X-1', 'acme', { affected: [{ package: { ecosystem: 'Pub', name: 'acme' }, ranges: [commits] }] }))
  expect(affectedVersions(affectedPackages(parseAdvisories(text)[0] ?? never()), published)).toEqual([])
})

it('finds the same versions for a whole listing as for each version', () => {
  const bound = fc.oneof(fc.constant('0'), version)
  const event = fc.oneof(
    bound.map((introduced) => ({ introduced })),
    version.map((fixed) => ({ fixed })),
    version.map((last_affected) => ({ last_affected })),
    fc.oneof(fc.constant('*'), version).map((limit) => ({ limit })),
  )
  const range = fc.array(event, { minLength: 1, maxLength: 6 }).map((events) => ({ type: 'SEMVER' as const, events }))
  const entry = fc.record({ ranges: fc.array(range, { maxLength: 3 }), versions: fc.array(version, { maxLength: 2 }) })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 3 }), fc.uniqueArray(version, { maxLength: 12 }), (parts, texts) => {
      const entries = parts.map((part) => ({ package: { ecosystem: 'Pub' as const, name: 'http' }, ...part }))
      const ordered = texts.map(known).toSorted(compareParsed)
      const found = affectedAmong(entries, ordered)
      for (const { text } of ordered) expect(found.has(text), text).toBe(entries.some((one) => isAffected(one, text)))
    }),
  )
})
