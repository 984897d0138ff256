import { existsSync, globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shareOf } from '../../../server/platform/caches/caches.ts'
import { read } from '../../support/deployment.ts'
import { root } from '../../support/sources.ts'

const pages = globSync('web/help/*.md', { cwd: root }).toSorted()
const documents = [
  ...pages,
  'README.md',
  'server/README.md',
  'server/platform/deploy/README.md',
  '.github/CONTRIBUTING.md',
  '.github/SECURITY.md',
]
const linksIn = (text: string): string[] => Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target)

/** Returns the anchors of the headings in a page, as GitHub derives them. */
const anchorsIn = (text: string): string[] =>
  Array.from(text.matchAll(/^#+ (.+)$/gm), ([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('help pages', () => {
  it('lists all pages in the index once', () => {
    const listed = Array.from(read('web/help/README.md').matchAll(/^- \[.+?\]\((.+?)\)/gm), ([, target = '']) => target)
    expect(listed.toSorted()).toEqual(pages.map((path) => basename(path)).filter((name) => name !== 'README.md'))
  })

  it.each(pages)('starts %s with its only title and a paragraph', (path) => {
    const text = read(path)
    expect(text).toMatch(/^# \S.*\n\n[A-Z[].*\.\n/)
    expect(text.replaceAll(/^```[^]*?^```/gm, '').match(/^# /gm)).toHaveLength(1)
  })

  it.each(documents)('has only links to existing files and headings in %s', (path) => {
    const missing = linksIn(read(path)).filter((target) => {
      if (/^\w+:/.test(target)) return false
      const [file = '', anchor] = target.split('#')
      const linked = file === '' ? path : join(path, '..', file)
      if (!existsSync(join(root, linked))) return true
      return anchor !== undefined && !anchorsIn(read(linked)).includes(anchor)
    })
    expect(missing).toEqual([])
  })

  // The pages that everyone follows first. Comments and single quotes are part of the arguments in cmd.
  it.each(['README.md', 'web/help/getting-started.md', 'web/help/publishing.md'])(
    'has commands for sh, PowerShell and cmd in %s',
    (path) => {
      const commands = Array.from(read(path).matchAll(/^```sh\n([^]*?)^```/gm), ([, block = '']) => block.trimEnd().split('\n')).flat()
      expect(commands.length).toBeGreaterThan(2)
      expect(commands.filter((command) => /['#$`\\]|>>|&&|\|/.test(command))).toEqual([])
    },
  )

  it('names the share of each cache', () => {
    const rows = [...read('web/help/capacity.md').matchAll(/^\| `(\w+)` \| (\d+) % \|/gm)]
    for (const [, name = '', share] of rows) expect(shareOf(name as Parameters<typeof shareOf>[0], 100), name).toBe(Number(share))
    expect(rows.reduce((sum, [, , share]) => sum + Number(share), 0)).toBe(100)
  })
})
