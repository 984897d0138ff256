import { expect, it } from 'vitest'
import { cvss3Score, severityOf } from '../../../server/registry/advisories/severity.ts'

// Source: first.org/cvss/v3.1/examples.
it.each([
  ['CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N', 6.1],
  ['CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N', 6.4],
  ['CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N', 3.1],
  ['CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H', 9.9],
  ['CVSS:3.1/AV:L/AC:L/PR:H/UI:N/S:U/C:L/I:L/A:L', 4.2],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H', 10],
  ['CVSS:3.1/AV:P/AC:H/PR:H/UI:R/S:U/C:N/I:N/A:N', 0],
  ['CVSS:3.1/S:U/C:H/I:H/A:H/AV:N/AC:L/PR:L/UI:N/E:P/RL:O', 8.8],
])('computes the score of %s', (vector, score) => {
  expect(cvss3Score(vector)).toBe(score)
})

it.each([
  'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N',
  'AV:N/AC:L/Au:N/C:P/I:P/A:P',
  'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H',
  'CVSS:3.1/AV:X/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
  'CVSS:3.1/AV:toString/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
  'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:X/C:H/I:H/A:H',
  '7.5',
  '',
])('computes no score of %j', (vector) => {
  expect(cvss3Score(vector)).toBeNull()
})

it('prefers the severity in words to the highest score', () => {
  const severity = ['CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N', 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N'].map((score) => ({
    type: 'CVSS_V3',
    score,
  }))
  expect(severityOf({ severity, database_specific: { severity: 'LOW' } })).toBe('low')
  expect(severityOf({ database_specific: { severity: 'Medium' } })).toBe('moderate')
  expect(severityOf({ severity, database_specific: { severity: 'SEVERE' } })).toBe('high')
  expect(severityOf({ severity: severity.slice(0, 1) })).toBe('low')
  expect(severityOf({ database_specific: { severity: 'SEVERE' } })).toBeNull()
  expect(severityOf({})).toBeNull()
})
