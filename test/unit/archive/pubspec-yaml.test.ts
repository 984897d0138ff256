import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { readYaml } from '../../../server/registry/archive/yaml.ts'
import { extended, fault, start } from '../../support/pubspec.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'

describe('YAML of a pubspec', () => {
  it.each([
    ['a: &x 1\nb: *x', 'has an anchor (&x)'],
    ['b: *x', 'has an alias (*x)'],
    ['a: !!binary aGk=', 'has a tag (!!binary)'],
    ['a: !own x', 'has a tag (!own)'],
    ['name: bar', 'line 5: the key "name" appears twice'],
    ['a: {b: 1, "b": 2}', 'line 5: the key "b" appears twice'],
    ['1: x', 'line 5: every key must be text'],
    ['? [a]\n: b', 'every key must be text'],
    ['a: .nan', 'numbers must be finite'],
    ['a: -.inf', 'numbers must be finite'],
    ['a: 1e999', 'numbers must be finite'],
    ['a: "\\0"', 'cannot be stored'],
    ['a: "\\ud800"', 'cannot be stored'],
    ['__proto__: {polluted: true}', 'the key "__proto__" is not allowed'],
    ['---\nname: bar', 'pubspec.yaml holds more than one document. Remove the second `---` and what follows it.'],
    ['a: [', 'line 6 is not valid YAML'],
    ['a: \tb: c', 'not valid YAML'],
  ])('is rejected: %s', (yaml, message) => {
    expect(fault(`${start}${yaml}\n`)).toContain(message)
  })

  it.each(['', '# nothing', 'text', '- a', '[]', '5', '%YAML 2.0\n---\nname: x', '%TAG ! tag:x,2000:\n---\nname: x'])(
    'must be a mapping without directives: %s',
    (yaml) => {
      expect(fault(yaml)).toMatch(/must be a mapping|a directive/)
    },
  )

  it('is parsed as YAML 1.2, in which dates, yes and no are text', () => {
    expect(extended("a: 2024-01-01\nb: yes\nc: 0x1F\nz: -0\nd: !!str 5\ne: '*x &y'\nf: |\n  &z\n").document).toMatchObject({
      a: '2024-01-01',
      b: 'yes',
      c: 31,
      z: 0,
      d: '5',
      e: '*x &y',
      f: '&z\n',
    })
  })

  it('preserves JSON values written as YAML', () => {
    const json = fc.dictionary(fc.string({ unit: 'grapheme', minLength: 1 }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 5 })
    fc.assert(
      fc.property(json, (object) => {
        fc.pre(!JSON.stringify(object).includes('__proto__') && !JSON.stringify(object).includes('\\u0000'))
        expect(readYaml(stringify(object, { aliasDuplicateObjects: false }), 'test')).toEqual(JSON.parse(JSON.stringify(object)))
      }),
    )
  })

  it('never causes errors other than rejections', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(...'\n -:{}[]&*!|>%@`"\'#?,\t'.split(''), '\n  ', '- ', ': ', '? ', 'dependencies:\n', 'null', '\\x'),
    )
    fc.assert(
      fc.property(fc.array(piece), fc.boolean(), (pieces, whole) => {
        expect(fault((whole ? '' : start) + pieces.join(''))).toBeTypeOf('string')
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    '[',
    '{a: ',
    '- ',
    '? ',
    '- - ? [',
    '&a ',
    '!a ',
    '! ',
    '*a\n',
    '}',
    ']\n',
    ',',
    '""',
    ':\n',
    ': ',
    '-\n',
    '%A\n',
    '---\n',
    '#\n',
    '{a: [b]},',
    'a:\n ',
    '\\x',
    '9',
    '\u0080',
  ])('is parsed or rejected quickly if it repeats "%s" up to the size limit', async (piece) => {
    const parse = () => {
      for (const opening of ['', 'a: [', 'a: "'])
        expect(fault(start + opening + piece.repeat(Math.floor(128_000 / piece.length)))).not.toBe('')
    }
    expect(await cpuMsOf(parse)).toBeLessThan(2000)
  })
})
