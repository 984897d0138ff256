import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { latestOf, latestPrereleaseOf } from '../../../server/registry/packages/versions/latest.ts'
import { versionKey, fitsClient, isPrerelease, parseVersion } from '../../../server/platform/pub/version.ts'
import { published, version } from '../../support/arbitraries.ts'
import { compareVersions } from '../../support/versions.ts'

/** Versions in ascending order. Adjacent ones test the rules of pub_semver. */
const ascending = [
  '0.0.0-0',
  '0.0.0',
  '0.0.1',
  '0.1.0',
  '1.0.0--10',
  '1.0.0--2',
  '1.0.0-0',
  '1.0.0-0.0',
  '1.0.0-2',
  '1.0.0-10',
  '1.0.0-20240101123456789012',
  '1.0.0--',
  '1.0.0-A',
  '1.0.0-alpha',
  '1.0.0-alpha+1',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-dev',
  '1.0.0-dev-x',
  '1.0.0-rc.1',
  '1.0.0',
  '1.0.0+0',
  '1.0.0+1',
  '1.0.0+1.1',
  '1.0.0+2',
  '1.0.0+10',
  '1.0.0+build',
  '1.0.1',
  '1.2.0',
  '1.10.0',
  '2.0.0',
  '10.0.0',
  '9007199254740992.0.0',
  '9007199254740993.0.0',
  '100000000000000000000.0.0',
]

const fits = (text: string) => fitsClient(parseVersion(text) ?? expect.fail(text))
const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(versionKey(a)), Buffer.from(versionKey(b)))
const entries = (...texts: string[]) => texts.map((text) => ({ version: text.replace('!', ''), retracted: text.startsWith('!') }))
const latest = (...texts: string[]) => latestOf(entries(...texts))?.version ?? null
const prerelease = (...texts: string[]) => latestPrereleaseOf(entries(...texts))?.version ?? null

describe('canonical version', () => {
  it.each(ascending)('parses %s', (text) => {
    expect(parseVersion(text)).toMatchObject({ text })
  })

  it.each([
    '',
    '1',
    '1.0',
    '1.0.0.0',
    'v1.0.0',
    '1.0.0 ',
    ' 1.0.0',
    '1.0.0\n',
    '01.0.0',
    '1.00.0',
    '1.0.00',
    '1.0.0-',
    '1.0.0+',
    '1.0.0-a..b',
    '1.0.0-a.',
    '1.0.0-ä',
    '1.0.0_1',
    '-1.0.0',
    '1.0.0-a+b+c',
    '1.0.x',
    '٣.0.0',
  ])('does not parse "%s"', (text) => {
    expect(parseVersion(text)).toBeNull()
  })

  it.each(['1.0.0-01', '1.0.0+01', '1.0.0-a.00', '1.0.0--0', '1.0.0--01', '1.0.0-0x1F', '1.0.0+0Xff'])(
    'does not parse %s, which is not in canonical form',
    (text) => {
      expect(parseVersion(text)).toBeNull()
    },
  )

  it('has at most 64 characters', () => {
    expect(parseVersion(`1.0.0-${'a'.repeat(58)}`)).not.toBeNull()
    expect(parseVersion(`1.0.0-${'a'.repeat(59)}`)).toBeNull()
    expect(parseVersion(`1.0.0-${'a'.repeat(1e6)}`)).toBeNull()
  })

  it('is a pre-release only by its pre-release part', () => {
    expect(['1.0.0-dev', '1.0.0-dev+1', '1.0.0', '1.0.0+dev-1'].map(isPrerelease)).toEqual([true, true, false, false])
  })

  it('fits the client with release numbers of up to 64 bits', () => {
    expect(fits('9223372036854775807.0.0')).toBe(true)
    expect(fits('0.0.9223372036854775808')).toBe(false)
  })
})

describe('order of versions', () => {
  it('matches pub_semver', () => {
    expect(ascending.toReversed().toSorted(compareVersions)).toEqual(ascending)
    for (const [index, text] of ascending.entries()) {
      expect(compareVersions(text, text)).toBe(0)
      for (const higher of ascending.slice(index + 1)) expect(compareVersions(text, higher), `${text} < ${higher}`).toBeLessThan(0)
    }
  })

  it('is total', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(-Math.sign(compareVersions(b, a)) + 0)
        expect(compareVersions(a, b) === 0).toBe(a === b)
        const [low = a, middle = b, high = c] = [a, b, c].toSorted(compareVersions)
        expect(compareVersions(low, middle)).toBeLessThanOrEqual(0)
        expect(compareVersions(middle, high)).toBeLessThanOrEqual(0)
        expect(compareVersions(low, high)).toBeLessThanOrEqual(0)
      }),
      { numRuns: 2000 },
    )
  })

  it('rejects versions that are not canonical', () => {
    expect(() => compareVersions('1.0.0', 'v1.0.0')).toThrow(RangeError)
    expect(() => versionKey('1.0')).toThrow(RangeError)
  })
})

describe('sort key of a version', () => {
  it('sorts by bytes in the order of versions', () => {
    expect(ascending.toReversed().toSorted(bytes)).toEqual(ascending)
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(bytes(a, b)).toBe(Math.sign(compareVersions(a, b)))
      }),
      { numRuns: 5000 },
    )
  })

  it('sorts versions that differ in a single identifier', () => {
    const tail = fc.stringMatching(/^[0-9a-b-]{1,4}(\.[0-9a-b-]{1,3})?$/)
    fc.assert(
      fc.property(tail, tail, fc.constantFrom('-', '+', '-a+'), (left, right, mark) => {
        const [a, b] = [`1.0.0${mark}${left}`, `1.0.0${mark}${right}`]
        fc.pre(parseVersion(a) !== null && parseVersion(b) !== null)
        expect(bytes(a, b)).toBe(Math.sign(compareVersions(a, b)))
      }),
      { numRuns: 5000 },
    )
  })

  it('is printable ASCII without spaces, and short', () => {
    fc.assert(
      fc.property(version, (text) => {
        expect(versionKey(text)).toMatch(/^[\x21-\x7e]{1,200}$/)
      }),
    )
  })
})

describe('latest version', () => {
  it('is the highest stable version, regardless of pre-releases', () => {
    expect(latest('1.0.0', '2.0.0-dev', '1.2.0+3', '1.2.0+2')).toBe('1.2.0+3')
    expect(latest('1.0.0-a', '1.0.0-b')).toBe('1.0.0-b')
    expect(latest()).toBeNull()
  })

  it('is not retracted unless all versions are', () => {
    expect(latest('1.0.0', '!2.0.0')).toBe('1.0.0')
    expect(latest('!2.0.0', '1.0.0-dev')).toBe('1.0.0-dev')
    expect(latest('!2.0.0', '!3.0.0-dev')).toBe('2.0.0')
  })

  it('is accompanied by the latest pre-release only if that is higher', () => {
    expect(prerelease('1.0.0', '2.0.0-dev')).toBe('2.0.0-dev')
    expect(prerelease('2.0.0', '2.0.0-dev')).toBeNull()
    expect(prerelease('1.0.0', '!2.0.0-dev', '1.5.0-dev')).toBe('1.5.0-dev')
    expect(prerelease('!1.0.0', '0.9.0-dev')).toBe('0.9.0-dev')
    expect(prerelease('!1.0.0', '!1.1.0-dev')).toBeNull()
    expect(prerelease()).toBeNull()
  })

  it('equals the result of sorting', () => {
    fc.assert(
      fc.property(published, (versions) => {
        const live = versions.filter((entry) => !entry.retracted)
        const sorted = (live.length > 0 ? live : versions).toSorted((a, b) => compareVersions(a.version, b.version))
        const stable = sorted.filter((entry) => !isPrerelease(entry.version))
        expect(latestOf(versions)).toBe(stable.at(-1) ?? sorted.at(-1) ?? null)
        const above = live.filter(
          (entry) =>
            isPrerelease(entry.version) &&
            live.every((other) => isPrerelease(other.version) || compareVersions(entry.version, other.version) > 0),
        )
        expect(latestPrereleaseOf(versions)).toBe(above.toSorted((a, b) => compareVersions(a.version, b.version)).at(-1) ?? null)
      }),
      { numRuns: 1000 },
    )
  })
})
