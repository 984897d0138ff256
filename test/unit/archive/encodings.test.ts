import { expect, it } from 'vitest'
import { textOf } from '../../../server/registry/archive/documents.ts'
import { readYaml } from '../../../server/registry/archive/yaml.ts'
import { parseAdvisories } from '../../../server/registry/advisories/osv.ts'

const readme = '# Acme\n\nDraws a shape in €.\n'
const little = Buffer.from(readme, 'utf16le')
const big = Buffer.from(readme, 'utf16le').swap16()

it.each([
  ['UTF-8', Buffer.from(readme)],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${readme}`)],
  ['UTF-16 LE', little],
  ['UTF-16 BE', big],
  ['UTF-16 LE with a mark', Buffer.concat([Buffer.from([0xff, 0xfe]), little])],
  ['UTF-16 BE with a mark', Buffer.concat([Buffer.from([0xfe, 0xff]), big])],
])('decodes a README in %s', (_name, content) => {
  expect(textOf(content, 1000)).toBe(readme)
  expect(Buffer.byteLength(textOf(content, 5))).toBeLessThanOrEqual(5)
})

it('replaces NUL in other content', () => {
  expect(textOf(Buffer.from('a\0b'), 100)).toBe('a\ufffdb')
})

it.each(['%YAML 1.2\n---\nname: x', '%YAML 1.1\n---\nname: x', '%YAML 1.2 # note\n---\nname: x'])(
  'accepts the version of YAML: %s',
  (text) => {
    expect(readYaml(text, 'pubspec.yaml')).toEqual({ name: 'x' })
  },
)

const advisory = (affected: object) =>
  JSON.stringify({
    id: 'GHSA-1',
    modified: '2026-01-01T00:00:00Z',
    summary: null,
    withdrawn: null,
    affected: [{ package: { ecosystem: 'Pub', name: 'acme' }, ...affected }],
  })
const ranged = (...events: object[]) => advisory({ versions: null, ranges: [{ type: 'SEMVER', events }] })

it('reads null in an advisory as absent', () => {
  const [read] = parseAdvisories(ranged({ introduced: '0', fixed: null }, { fixed: '1.1.0' }))
  expect(read).not.toHaveProperty('withdrawn')
  expect(read?.affected).toEqual([
    { package: { ecosystem: 'Pub', name: 'acme' }, ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.1.0' }] }] },
  ])
})

it.each([
  { introduced: '0', fixed: '1.1.0' },
  { fixed: '1.1.0', last_affected: '1.0.0' },
  { introduced: '0', limit: '*' },
])('refuses an event with two kinds: %o', (event) => {
  expect(() => parseAdvisories(ranged(event))).toThrow('must have only one of introduced, fixed, last_affected and limit')
})
