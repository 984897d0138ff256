import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allows, isBounded, isImpossible, parseConstraint } from '../../../server/platform/pub/constraint.ts'
import { fitsClient, isPrerelease, parseVersion } from '../../../server/platform/pub/version.ts'
import { compareVersions } from '../../support/versions.ts'
import { version as anyVersion } from '../../support/arbitraries.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'

const version = anyVersion.filter((text) => fitsClient(parseVersion(text) ?? expect.fail(text)))
const parsed = (text: string) => parseConstraint(text) ?? expect.fail(`${text} was not read`)
const admits = (constraint: string, text: string) => allows(parsed(constraint), text)
const release = (text: string) => text.split(/[-+]/)[0]

describe('version constraint', () => {
  it.each([
    ['any', ['0.0.0-0', '1.0.0', '99.0.0+1'], []],
    ['1.2.3', ['1.2.3'], ['1.2.3+1', '1.2.3-dev', '1.2.4']],
    ['1.2.3+1', ['1.2.3+1'], ['1.2.3', '1.2.3+2']],
    ['^1.2.3', ['1.2.3', '1.2.3+1', '1.3.0-dev', '1.99.0'], ['1.2.2', '1.2.3-dev', '2.0.0-0', '2.0.0-dev', '2.0.0']],
    ['^0.0.3', ['0.0.3', '0.0.99'], ['0.0.2', '0.1.0-dev', '0.1.0']],
    ['^0.2.3', ['0.2.3', '0.2.9'], ['0.3.0-0', '0.3.0', '1.0.0']],
    ['^1.0.0-dev', ['1.0.0-dev', '1.0.0', '1.9.9'], ['1.0.0-alpha', '2.0.0-dev']],
    ['>=1.0.0 <2.0.0', ['1.0.0', '1.9.9-dev', '1.9.9'], ['1.0.0-dev', '2.0.0-0', '2.0.0-dev', '2.0.0']],
    ['<2.0.0 >=1.0.0', ['1.0.0'], ['2.0.0-dev', '2.0.0']],
    ['>=2.0.0-alpha <2.0.0', ['2.0.0-alpha', '2.0.0-dev'], ['2.0.0', '1.9.9']],
    ['>=1.0.0-dev <2.0.0', ['1.0.0-dev'], ['2.0.0-dev']],
    ['<2.0.0-dev', ['2.0.0-alpha', '0.0.0'], ['2.0.0-dev', '2.0.0']],
    ['<2.0.0+1', ['2.0.0', '2.0.0-dev'], ['2.0.0+1']],
    ['>1.0.0 <=2.0.0', ['1.0.0+1', '2.0.0', '2.0.0-dev'], ['1.0.0', '2.0.0+1']],
    ['>=1.0.0 >1.0.0 <=3.0.0 <2.0.0', ['1.0.1'], ['1.0.0', '2.0.0', '2.0.0-dev']],
    ['  >= 1.0.0\t<  2.0.0 ', ['1.0.0'], ['2.0.0']],
    ['>=1.0.0<2.0.0', ['1.5.0'], ['2.0.0']],
    ['^ 1.0.0', ['1.0.0'], ['2.0.0']],
    ['>=01.0.0', ['1.0.0'], ['0.9.0']],
    ['>=3.0.0 <2.0.0', [], ['1.0.0', '2.0.0', '2.5.0', '3.0.0']],
    ['>=2.0.0 <2.0.0', [], ['2.0.0', '2.0.0-dev']],
    ['1.0.0 2.0.0', [], ['1.0.0', '1.5.0', '2.0.0']],
  ])('matches the same versions as pub: %s', (constraint, admitted, excluded) => {
    expect([...admitted, ...excluded].filter((text) => admits(constraint, text))).toEqual(admitted)
  })

  it.each([
    '',
    ' ',
    'x',
    '1',
    '1.0',
    '>=',
    '=1.0.0',
    '==1.0.0',
    '~1.0.0',
    '^',
    '^^1.0.0',
    '^1.0.0 <1.5.0',
    '<1.5.0 ^1.0.0',
    '>=1.0.0, <2.0.0',
    '>=1.0.0 || <0.5.0',
    'any <2.0.0',
    '> = 1.0.0',
    '1.x',
    '*',
    'latest',
    '>=99999999999999999999.0.0',
    `>=1.0.0-${'a'.repeat(99)}`,
  ])('does not parse from "%s"', (text) => {
    expect(parseConstraint(text)).toBeNull()
  })

  it('reports whether it is bounded and satisfiable', () => {
    expect(['any', '>=1.0.0', '<2.0.0', '^1.0.0', '1.0.0', '>1.0.0 <=2.0.0'].map((text) => isBounded(parsed(text)))).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
    ])
    expect(['any', '^1.0.0', '>=2.0.0 <1.0.0', '>1.0.0 <=1.0.0', '>=1.0.0 <=1.0.0'].map((text) => isImpossible(parsed(text)))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ])
  })

  it('does not match versions that are not canonical', () => {
    expect(allows(parsed('any'), 'v1.0.0')).toBe(false)
  })

  it('parses long texts in linear time', async () => {
    const parse = () => {
      expect(parseConstraint(`>=1.0.0 ${'<2.0.0 '.repeat(20_000)}`)).not.toBeNull()
      expect(parseConstraint(`${' '.repeat(100_000)}x`)).toBeNull()
      expect(parseConstraint(`1.0.0${' '.repeat(100_000)}x`)).toBeNull()
    }
    expect(await cpuMsOf(parse)).toBeLessThan(1000)
  })
})

describe('generated version constraint', () => {
  it('matches exactly its version', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect([admits(a, a), admits(a, b)]).toEqual([true, a === b])
      }),
    )
  })

  it('matches versions between two bounds, except pre-releases of a stable upper bound', () => {
    fc.assert(
      fc.property(version, version, version, (min, max, text) => {
        const minOfMax = isPrerelease(min) && release(min) === release(max)
        const upper = isPrerelease(max) || max.includes('+') || minOfMax ? max : `${max}-0`
        expect(admits(`>=${min} <${max}`, text)).toBe(compareVersions(text, min) >= 0 && compareVersions(text, upper) < 0)
      }),
      { numRuns: 3000 },
    )
  })

  it('matches compatible versions with a caret', () => {
    fc.assert(
      fc.property(version, version, (from, text) => {
        const [major = 0n, minor = 0n] = parseVersion(from)?.release ?? []
        const next = major === 0n ? `0.${minor + 1n}.0-0` : `${major + 1n}.0.0-0`
        expect(admits(`^${from}`, text)).toBe(compareVersions(text, from) >= 0 && compareVersions(text, next) < 0)
      }),
      { numRuns: 2000 },
    )
  })

  it('matches the intersection of joined constraints', () => {
    const comparison = fc.tuple(fc.constantFrom('>=', '>', '<=', ''), version).map(([operator, text]) => operator + text)
    fc.assert(
      fc.property(comparison, comparison, version, (a, b, text) => {
        expect(admits(`${a} ${b}`, text)).toBe(admits(a, text) && admits(b, text))
      }),
      { numRuns: 2000 },
    )
  })

  it('never throws for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[<>=^ any.0-9+-]{0,20}$/)), (text) => {
        expect(() => parseConstraint(text)).not.toThrow()
      }),
    )
  })
})
