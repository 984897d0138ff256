import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root, sources } from '../support/sources.ts'
import { findWording } from '../support/wording.ts'

/** Texts that quote a protocol, a contract or another project, by file: lines that contain one are exempt. */
const quoted: Readonly<Record<string, readonly string[]>> = {
  'server/registry/archive/check-pubspec.ts': ['publish_to is none'],
  'server/registry/archive/license.ts': ['shall be used for good'],
  'server/registry/packages/administration/service.ts': ['floor(extract('],
  'server/operations/stats/service.ts': ['floor(coalesce('],
  'test/unit/archive/license.test.ts': ['used for Good'],
  'test/unit/archive/pubspec.test.ts': ['publish_to is none'],
  'web/package/package-sidebar.vue': ['i-lucide-house'],
}

/** Returns the text without the released sections of the changelog, which stay as they were published. */
const current = (path: string, text: string): string =>
  path === 'CHANGELOG.md'
    ? text
        .split(/^## \[\d+\.\d+\.\d+\]/m)
        .slice(0, 2)
        .join('')
    : text

/** Finds the words to replace in a file, as `file:line: word → replacement`. */
function findingsIn(path: string, text: string): string[] {
  const lines = text.split('\n')
  const isQuoted = (line: number) => (quoted[path] ?? []).some((quote) => lines[line - 1]?.includes(quote))
  return findWording(current(path, text))
    .filter(({ line }) => !isQuoted(line))
    .map(({ line, word, instead }) => `${path}:${line}: ${word} → ${instead}`)
}

it('finds only words that other projects use', () => {
  const files = sources('{server,web,test}/**/*.{ts,mjs,vue,graphql,css,html,md,yaml,conf}').concat(sources('{*,.github/*}.md'))
  const own = files.filter(({ path }) => !/wording(\.test)?\.ts$|\/previous-release\.graphql$/.test(path))
  expect(own.length).toBeGreaterThan(1000)
  expect(own.flatMap(({ path, text }) => findingsIn(path, text))).toEqual([])
})

it('finds planted words in comments and in identifiers', () => {
  const text = '// Whoever asks is told.\nconst tellNobody = () => beside(Math.floor(1))\n/** Retries the request. */'
  expect(findingsIn('server/planted.ts', text).map((finding) => finding.split(' → ')[0])).toEqual([
    'server/planted.ts:1: Whoever',
    'server/planted.ts:1: is told',
    'server/planted.ts:2: Nobody',
    'server/planted.ts:2: beside',
    'server/planted.ts:2: tell',
  ])
})

it('leaves released sections of the changelog alone', () => {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  expect(current('CHANGELOG.md', text).length).toBeLessThan(text.length)
})
