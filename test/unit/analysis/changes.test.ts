import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { analyzePackage, reportFor } from '../../support/analysis.ts'

const api = (source: string) => ({ files: { 'lib/sound.dart': `/// A.\nlibrary;\n${source}` } })

/** Returns the public API of an earlier version with this source. */
async function before(source: string, version = '1.1.0') {
  const answer = await analyzePackage(api(source))
  if ('refused' in answer) throw new Error(answer.refused)
  return { version, surface: answer.surface }
}

it('notes changes of the public API, and breaking changes without a major release', async () => {
  const earlier = await before('int low() => 1;\nint high() => 2;')
  expect((await reportFor(api('int high() => 2;'), {}, earlier)).notes).toEqual([
    'The public API has 1 removal since `1.1.0`. **1 removal in a minor release** (`low`): semantic versioning requires a major release.',
  ])
  expect((await reportFor(api('int high() => 2;\nint low() => 1;\nint ebb() => 3;'), {}, earlier)).notes).toEqual([
    'The public API has 1 addition since `1.1.0`.',
  ])
  expect((await reportFor(api('int high() => 2;'), { version: '2.0.0' }, earlier)).notes).toEqual([
    'The public API has 1 removal since `1.1.0`.',
  ])
})

it('adds no note if the API did not change or cannot be compared', async () => {
  const source = 'int low() => 1;'
  expect((await reportFor(api(source), {}, await before(source))).notes).toEqual([])
  for (const surface of [Buffer.from('no gzip'), gzipSync('no JSON'), gzipSync('{"format":0}')])
    expect((await reportFor(api(source), {}, { version: '1.1.0', surface })).notes).toEqual([])
})
