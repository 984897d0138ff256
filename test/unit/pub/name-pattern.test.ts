import fc from 'fast-check'
import { expect, it } from 'vitest'
import { matchesName } from '../../../server/platform/pub/package-name.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'

it.each([
  ['http', ['http'], ['http_parser', 'my_http', 'htt']],
  ['acme_*', ['acme_', 'acme_core'], ['acme', 'my_acme_core']],
  ['*_client', ['http_client', '_client'], ['client', 'http_clients']],
  ['*', ['a', ''], []],
  ['a*a', ['aa', 'aba'], ['a', 'ab']],
  ['a*b*c', ['abc', 'aabbcc', 'a_b_c'], ['acb', 'ac', 'abcd']],
  ['a**c', ['ac', 'abc'], ['ab']],
  ['ab*bc', ['abbc', 'ab_bc'], ['abc']],
  ['', [''], ['a']],
])('matches names with the pattern %j', (pattern, matching, others) => {
  expect([...matching, ...others].filter((name) => matchesName(pattern, name))).toEqual(matching)
})

it('matches the same names as a regular expression', () => {
  const letters = fc.stringMatching(/^[ab]{0,8}$/)
  fc.assert(
    fc.property(fc.stringMatching(/^[ab*]{0,6}$/), letters, (pattern, name) => {
      expect(matchesName(pattern, name)).toBe(new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name))
    }),
  )
})

it('is fast with many asterisks', async () => {
  const name = 'a'.repeat(64)
  expect(await cpuMsOf(() => matchesName(`${'*a'.repeat(31)}*b`, name))).toBeLessThan(2000)
})
