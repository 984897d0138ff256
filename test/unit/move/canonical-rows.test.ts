import { expect, it } from 'vitest'
import { canonicalRow } from '../../../server/operations/move/source.ts'

const columns = (...types: string[]) => types.map((type, index) => ({ name: `c${index}`, type }))

it('formats rows as PostgreSQL does', () => {
  const types = columns('uuid', 'varchar', 'text', 'int4', 'int8', 'bool', 'bool', 'timestamptz', 'bytea', 'text')
  const id = '0199a1b2-0000-7000-8000-000000000001'
  const texts = ['tab\tand \\N', 'lines\r\n\v\f\b\u2028\u0085\u0001 é 🎯']
  const numbers = [-7n, 9_007_199_254_740_993n, 1n, 0n]
  const moment = BigInt(Date.parse('2026-11-22T15:05:48.120Z'))
  expect(canonicalRow(types, [id, ...texts, ...numbers, moment, Buffer.from([0, 255]), null]).split('\t')).toEqual([
    id,
    'tab\\tand \\\\N',
    'lines\\r\\n\\v\\f\\b\u2028\u0085\u0001 é 🎯',
    '-7',
    '9007199254740993',
    't',
    'f',
    '2026-11-22 15:05:48.12+00',
    '\\\\x00ff',
    '\\N',
  ])
  expect(canonicalRow(columns('bytea', 'text'), [Buffer.alloc(0), ''])).toBe('\\\\x\t')
})

it.each([
  ['1970-01-01T00:00:00.000Z', '1970-01-01 00:00:00+00'],
  ['1969-12-31T23:59:59.999Z', '1969-12-31 23:59:59.999+00'],
  ['0099-03-01T00:00:00.500Z', '0099-03-01 00:00:00.5+00'],
  ['+010000-01-01T00:00:00.100Z', '10000-01-01 00:00:00.1+00'],
])('formats the timestamp %s as %s', (iso, written) => {
  expect(canonicalRow(columns('timestamptz'), [BigInt(Date.parse(iso))])).toBe(written)
})

it('rejects values that do not match their column without revealing them', () => {
  const wrong: [string, unknown][] = [
    ['text', 'zero\0'],
    ['text', 5n],
    ['int4', 1.5],
    ['int4', '5'],
    ['bool', 2n],
    ['timestamptz', '2026-11-22'],
    ['timestamptz', -99_999_999_999_999_999n],
    ['bytea', 'text'],
    ['tsvector', 'text'],
  ]
  for (const [type, value] of wrong)
    expect(() => canonicalRow(columns(type), [value])).toThrow(`the column c0 (${type}) has a value that PostgreSQL cannot keep`)
})
