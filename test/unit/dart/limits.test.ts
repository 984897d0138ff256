import { gzipSync } from 'node:zlib'
import { expect, it, vi } from 'vitest'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { readComplete, surfaceOf } from '../../../server/analysis/dart/surface.ts'
import { analyzePackage } from '../../support/analysis.ts'

const read = (sources: Record<string, string>) => readApi(new Map(Object.entries(sources)), 'own')

/** Classes with a syntax error each, so that all members are parsed individually. */
const faulty = Array.from({ length: 200 }, (_, index) => `class A${index} { final int x; A${index}(this.x); void f() {} what is ## this; }`)

it.each([
  ['sound code', Array.from({ length: 2000 }, (_, index) => `class A${index} { final int x; A${index}(this.x); void f() {} }`).join('\n')],
  ['code with syntax errors', faulty.join('\n')],
  ['code in another order', faulty.toReversed().join('\n')],
])('reads the same API however long it takes: %s', async (_, code) => {
  const usual = await read({ 'lib/own.dart': code })
  // Every look at the clock takes ten minutes, as on a machine that does something else in the meantime.
  let now = 0
  const clocks = [performance, Date].map((clock) =>
    vi.spyOn(clock as Pick<typeof Date, 'now'>, 'now').mockImplementation(() => (now += 600_000)),
  )
  const late = await read({ 'lib/own.dart': code })
  for (const clock of clocks) clock.mockRestore()
  expect(late).toEqual(usual)
  expect(usual.unread).toEqual([])
})

/** Returns code that takes the parser many times as long as other code of its length. */
const ambiguous = (times: number): string => `int f({int x = ${'a ? [b] : '.repeat(times)}c}) => x;`

it.each([
  ['a default value that is ambiguous', ambiguous(1200)],
  ['ambiguous members', `class A { ${ambiguous(1200)} }`],
  ['ambiguous members and others', `class A { void b() {} ${ambiguous(1200)} }\nclass B { int c; }`],
])('reports files that are too complex: %s', async (_, code) => {
  const { unread, libraries } = await read({ 'lib/own.dart': code, 'lib/sound.dart': 'int g() => 1;' })
  expect(unread).toEqual(['own.dart'])
  expect(libraries.find(({ path }) => path === 'sound.dart')?.declarations.map(({ name }) => name)).toEqual(['g'])
})

it.each([
  ['a limit', ambiguous(1200), 'Too complex to be read: `sound.dart`. Some of their API is missing here.'],
  ['unknown syntax', 'class A { int a; ## wat }', 'Some code in 1 file could not be parsed: `sound.dart`.'],
])('does not compare an incomplete API with another version, on either side: %s', async (_, code, note) => {
  const files = { 'lib/sound.dart': code }
  const whole = gzipSync(JSON.stringify(surfaceOf(await read({ 'lib/sound.dart': 'int f() => 1; int g() => 1;' }))))
  const incomplete = await analyzePackage({ files }, {}, { version: '1.1.0', surface: whole })
  if ('refused' in incomplete) throw new Error(incomplete.refused)
  expect(incomplete.apiVerdict).toBeNull()
  expect(incomplete.report.isIncomplete).toBe(true)
  expect(incomplete.report.notes).toEqual([note])
  expect(readComplete(incomplete.surface)).toBeNull()
  const next = await analyzePackage({}, { version: '1.3.0' }, { version: '1.2.0', surface: incomplete.surface })
  expect(next).toMatchObject({ apiVerdict: null, report: { notes: [] } })
  expect(next).not.toHaveProperty('report.isIncomplete')
})
