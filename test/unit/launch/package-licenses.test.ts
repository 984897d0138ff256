import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { licenseTexts } from '../../../server/platform/launch/package-licenses.ts'

/** Creates the folder of a package with these files. */
function folderOf(manifest: object, files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-licenses-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) })) writeFileSync(join(folder, name), text)
  return folder
}

it('lists each license once, with its packages and notices', () => {
  const texts = licenseTexts([
    folderOf({ name: 'two', version: '2.0.0', license: 'MIT' }, { LICENSE: 'Do what you like.\r\n' }),
    folderOf({ name: '@one/one', version: '1.0.0', license: 'MIT' }, { 'license.md': 'Do what you like.', 'license.js': 'code()' }),
    folderOf({ name: 'three', version: '3.0.0', license: 'Apache-2.0' }, { LICENSE: 'Be nice.', 'NOTICE.txt': 'Of three people.' }),
  ])
  const line = '-'.repeat(80)
  expect(texts.split(`\n${line}\n`).slice(1)).toEqual([
    '@one/one 1.0.0 (MIT)\ntwo 2.0.0 (MIT)\n\nDo what you like.\n',
    'three 3.0.0 (Apache-2.0)\n\nBe nice.\n\nOf three people.\n',
  ])
})

it('adds the text of a license that a package only names', () => {
  const readme = '# Bare\n\n## License\n\nMIT, but for the pictures.\n\n## More\n\nNothing.'
  const texts = licenseTexts([
    folderOf({ name: 'bare', version: '1.0.0', license: 'MIT', author: { name: 'Bea' } }, { 'README.md': readme }),
  ])
  expect(texts).toContain(
    'By Bea\n\n## License\n\nMIT, but for the pictures.\n\nMIT License\n\nCopyright (c) Bea\n\nPermission is hereby granted',
  )
  expect(texts).not.toContain('Nothing.')
})

it.each([undefined, 'UNLICENSED', 'SEE LICENSE IN nowhere'])('rejects a package with the license %s and no text', (license) => {
  const folder = folderOf({ name: 'closed', version: '1.0.0', license })
  expect(() => licenseTexts([folder])).toThrow(/^closed 1\.0\.0.* has no license\.$/)
})
