import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { longestTurnMs } from '../support/cpu-time.ts'
import { publish } from '../support/publish.ts'

const query = `query ($path: String!, $context: Int = 3) { package(name: "acme") { version(version: "1.1.0") { comparison(from: "1.0.0") { files {
  diff(path: $path, context: $context) {
    state addedLines removedLines isTruncated change { status previousPath }
    hunks { oldStart oldLines newStart newLines lines { kind oldLine newLine text html hasNoNewline } }
  }
} } } } }`
async function diff(actor: Actor, path: string, context?: number) {
  const { body } = await actor.graphql(query, { path, context })
  expect(body.errors).toBeUndefined()
  return body.data.package.version.comparison.files.diff
}
const publishBoth = async (alice: Actor, before: Record<string, string | Buffer>, after: Record<string, string | Buffer>) => {
  await publish(alice, { name: 'acme', version: '1.0.0', files: before })
  await publish(alice, { name: 'acme', version: '1.1.0', files: after })
}
const lines = (count: number, text = (index: number) => `line ${index}`) =>
  Array.from({ length: count }, (_, index) => `${text(index)}\n`).join('')

it('compares a file line by line and marks the changed words', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const before = `${lines(20)}final List<int> values = [1, 2];\n${lines(3)}end`
  await publishBoth(
    alice,
    { 'a.txt': before, 'old.txt': 'same\n' },
    { 'a.txt': before.replace('[1, 2]', '[1, <3>]').concat('\n'), 'new.txt': 'same\n' },
  )
  const found = await diff(alice, 'a.txt', 1)
  expect(found).toMatchObject({ state: 'TEXT', addedLines: 2, removedLines: 2, isTruncated: false, change: { status: 'MODIFIED' } })
  expect(found.hunks).toHaveLength(2)
  expect(found.hunks[0]).toEqual({
    oldStart: 20,
    oldLines: 3,
    newStart: 20,
    newLines: 3,
    lines: [
      { kind: 'CONTEXT', oldLine: 20, newLine: 20, text: 'line 19', html: 'line 19', hasNoNewline: false },
      expect.objectContaining({ kind: 'REMOVED', oldLine: 21, newLine: null, html: 'final List&lt;int&gt; values = [1, <mark>2</mark>];' }),
      expect.objectContaining({
        kind: 'ADDED',
        oldLine: null,
        newLine: 21,
        html: 'final List&lt;int&gt; values = [1, <mark>&lt;3&gt;</mark>];',
      }),
      expect.objectContaining({ kind: 'CONTEXT', oldLine: 22, newLine: 22 }),
    ],
  })
  expect(found.hunks[1].lines.slice(1)).toEqual([
    expect.objectContaining({ kind: 'REMOVED', text: 'end', hasNoNewline: true }),
    expect.objectContaining({ kind: 'ADDED', text: 'end', hasNoNewline: false }),
  ])
  expect((await diff(alice, 'a.txt', 1000)).hunks).toHaveLength(1)
  expect(await diff(alice, 'new.txt')).toMatchObject({ state: 'TEXT', hunks: [], change: { status: 'RENAMED', previousPath: 'old.txt' } })
  for (const path of ['old.txt', 'LICENSE', 'missing.txt', '../../etc/passwd', '']) expect(await diff(alice, path), path).toBeNull()
})

it('highlights the lines of a difference', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publishBoth(alice, { 'lib/a.dart': '/*\nint a = 1;\n*/\n' }, { 'lib/a.dart': '/*\nint a = <2>;\n*/\n' })
  const { hunks } = await diff(alice, 'lib/a.dart', 0)
  expect(hunks[0].lines.map(({ html }: { html: string }) => html)).toEqual([
    '<span class="hl-c">int a = <mark>1</mark>;</span>',
    '<span class="hl-c">int a = <mark>&lt;2&gt;</mark>;</span>',
  ])
})

it('does not compare binary, very large and entirely different files', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const noise = (seed: string) => lines(9000, (index) => `${seed} ${(index * 7919) % 9001}`)
  await publishBoth(
    alice,
    { 'image.bin': randomBytes(2000), 'latin.txt': Buffer.from([0x61, 0xe9, 0x0a]), 'big.txt': lines(60_000), 'noise.txt': noise('a') },
    { 'image.bin': randomBytes(2000), 'latin.txt': 'é\n', 'big.txt': 'small\n', 'noise.txt': noise('b'), 'added.txt': lines(7000) },
  )
  expect(await diff(alice, 'image.bin')).toMatchObject({ state: 'BINARY', hunks: [] })
  expect(await diff(alice, 'latin.txt')).toMatchObject({ state: 'BINARY', hunks: [] })
  expect(await diff(alice, 'big.txt')).toMatchObject({ state: 'TOO_LARGE', hunks: [] })
  expect(await diff(alice, 'noise.txt')).toMatchObject({ state: 'TOO_DIFFERENT', hunks: [] })
  const added = await diff(alice, 'added.txt')
  expect(added).toMatchObject({ state: 'TEXT', addedLines: 7000, removedLines: 0, isTruncated: true })
  expect(added.hunks[0].lines).toHaveLength(5000)
})

it('answers other requests while a hostile pair of files is compared', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const hostile = (step: number) => lines(40_000, (index) => String((index * step) % 3))
  await publishBoth(
    alice,
    { 'a.txt': hostile(7), 'b.txt': `${'ab '.repeat(160_000)}\n` },
    { 'a.txt': hostile(11), 'b.txt': `${'ba '.repeat(160_000)}\n` },
  )
  const comparing = Promise.all([diff(alice, 'a.txt'), diff(alice, 'b.txt')])
  const watching = longestTurnMs(comparing)
  expect((await alice.get('/api/packages/acme')).status).toBe(200)
  const [a, b] = await comparing
  expect(a).toMatchObject({ state: 'TOO_DIFFERENT' })
  expect(b).toMatchObject({ state: 'TEXT', addedLines: 1, removedLines: 1 })
  expect(b.hunks[0].lines[0].text).toHaveLength(2001)
  expect(await watching).toBeLessThan(1000)
})
