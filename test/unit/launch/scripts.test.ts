import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import packageFile from '../../../package.json' with { type: 'json' }
import { root } from '../../support/sources.ts'

type LockFile = { packages: Record<string, { bin?: Record<string, string> }> }

it.each(Object.entries(packageFile.scripts))('has a script %s that sh and cmd on Windows run alike', (_name, script) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile
  const programs = new Set(['node', 'npm', ...Object.values(packages).flatMap(({ bin }) => Object.keys(bin ?? {}))])
  for (const command of script.split(/ (?:&&|\|\|) /)) {
    const [program = '', ...args] = command.replace(/^exec /, '').split(' ')
    expect(programs).toContain(program)
    // No variables, redirections, patterns or single quotes: the shells treat them differently. Both remove double quotes.
    for (const arg of args) expect(arg).toMatch(/^([\w./:,-]+|"[\w./*()+-]+")$/)
  }
})

it('replaces the shell only where there is one, after a command that fails on Windows', () => {
  const [isPosix, replacing, otherwise] = packageFile.scripts.start.split(/ (?:&&|\|\|) /)
  expect(replacing).toBe(`exec ${otherwise}`)
  expect(Object.values(packageFile.scripts).filter((script) => script.includes('exec '))).toEqual([packageFile.scripts.start])
  const [program = '', ...args] = (isPosix ?? '').replaceAll('"', '').split(' ')
  const codeOn = (platform: string) =>
    spawnSync(program, [args[0] ?? '', `Object.defineProperty(process, 'platform', { value: '${platform}' });${args[1]}`]).status
  expect(['linux', 'darwin', 'win32'].map(codeOn)).toEqual([0, 0, 1])
})
