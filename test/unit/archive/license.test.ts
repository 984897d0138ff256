import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { licenseOf, licensesOf } from '../../../server/registry/archive/license.ts'
import { root } from '../../support/sources.ts'

const manifests = globSync('node_modules/{*,@*/*}/package.json', { cwd: root }).map((path) => join(root, path))

/** Returns the declared licenses and license texts of the installed dependencies. */
function licensesAtHand(): { stated: string; text: string; path: string }[] {
  return manifests.flatMap((manifest) => {
    const { license } = JSON.parse(readFileSync(manifest, 'utf8')) as { license?: unknown }
    const [path] = globSync(join(manifest, '../{LICENSE,LICENCE,license,License}{,.md,.txt}'))
    return typeof license === 'string' && path ? [{ stated: license, text: readFileSync(path, 'utf8'), path }] : []
  })
}

it('recognizes the licenses of real packages', () => {
  const known = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'MPL-2.0', '0BSD'])
  const all = licensesAtHand().filter(({ stated }) => known.has(stated))
  expect(all.length).toBeGreaterThan(200)
  // Few manifests declare a different license than their license file.
  const wrong = all.filter(({ stated, text }) => licenseOf(text) !== stated)
  expect(wrong.length / all.length, JSON.stringify(wrong.map(({ stated, path }) => [stated, path]))).toBeLessThan(0.01)
})

it('reports other texts and modified licenses as unknown', () => {
  const mit = licensesAtHand().find(({ stated, text }) => stated === 'MIT' && licenseOf(text) === 'MIT')?.text ?? ''
  for (const text of [
    null,
    '',
    'All rights reserved.',
    'MIT',
    'See the MIT license.',
    `${mit}\nThe Software shall be used for Good, not Evil.`,
    '\ufffd'.repeat(1000),
  ])
    expect(licenseOf(text)).toBe('unknown')
  expect(licenseOf('SPDX-License-Identifier: MPL-2.0')).toBe('MPL-2.0')
  expect(licenseOf(mit.replaceAll('\n', '\r\n').toUpperCase())).toBe('MIT')
})

it.each([
  ['GPL-3.0', 'GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n use the GNU Lesser General Public License instead'],
  ['GPL-2.0', 'GNU GENERAL PUBLIC LICENSE\n   Version 2, June 1991'],
  [
    'LGPL-3.0',
    'GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3, incorporates the terms of version 3 of the GNU General Public License, GNU General Public License version 3',
  ],
  ['LGPL-2.1', 'GNU LESSER GENERAL PUBLIC LICENSE\nVersion 2.1, February 1999'],
  ['AGPL-3.0', 'GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3, 19 November 2007 … the GNU General Public License, version 3'],
  ['Unlicense', 'This is free and unencumbered software released into the public domain.'],
])('distinguishes %s from similar licenses', (id, text) => {
  expect(licenseOf(text)).toBe(id)
})

it('finds all licenses of a text, but not licenses that it only mentions', () => {
  const textOf = (id: string) => licensesAtHand().find(({ stated, text }) => stated === id && licenseOf(text) === id)?.text ?? ''
  for (const ids of [
    ['MIT', 'Apache-2.0'],
    ['BSD-3-Clause', 'MIT', 'ISC'],
  ])
    expect(licensesOf(ids.map(textOf).join('\n\n---\n\n'))).toEqual(ids)
  expect(licensesOf(textOf('MPL-2.0'))).toEqual(['MPL-2.0'])
  expect(licensesOf(textOf('Apache-2.0'))).toEqual(['Apache-2.0'])
  const lesser = 'GNU LESSER GENERAL PUBLIC LICENSE Version 3 … supplements the GNU General Public License version 3'
  expect(licensesOf(lesser)).toEqual(['LGPL-3.0'])
  const general =
    'GNU GENERAL PUBLIC LICENSE Version 3. The GNU General Public License is a free, copyleft license for software and other works.'
  expect(licensesOf(`${lesser}\n${general}`)).toEqual(['LGPL-3.0', 'GPL-3.0'])
  expect(licensesOf('SPDX-License-Identifier: MIT-0')).toEqual(['MIT-0'])
  expect(licensesOf('All rights reserved.')).toEqual([])
})
