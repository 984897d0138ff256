import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import packageFile from '../../../package.json' with { type: 'json' }
import { root } from '../../support/sources.ts'

type LockFile = { packages: Record<string, { bin?: Record<string, string> }> }

it.each(Object.entries(packageFile.scripts))('has a script %s that sh and cmd on Windows run alike', (_name, script) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile
  const programs = new Set(['node', 'npm', ...Object.values(packages).flatMap(({ bin }) => Object.keys(bin ?? {}))])
  for (const command of script.split(' && ')) {
    const [program = '', ...args] = command.split(' ')
    expect(programs).toContain(program)
    // No variables, redirections, patterns or single quotes: the shells treat them differently. Both remove double quotes.
    for (const arg of args) expect(arg).toMatch(/^([\w./:,-]+|"[\w./*-]+")$/)
  }
})
