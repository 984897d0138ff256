import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commands } from '../../server/admin/registry.ts'
import { testApp } from '../app.ts'
import { admin, adminJson, environmentOf, runCommand } from '../support/admin.ts'

const names = [...commands.keys()]

it.each(names)('has a help with an example, and a row in the README: %s', async (name) => {
  const command = commands.get(name)
  const { code, out } = await runCommand({}, name, '--help')
  expect(code).toBe(0)
  expect(out).toMatch(new RegExp(`^Usage: npm run admin -- ${name}\\b`))
  expect(out).toMatch(new RegExp(`\nExamples?:\n  npm run admin -- ${name}\\b`))
  for (const example of command?.examples ?? []) expect(example).toMatch(new RegExp(`^${name}( |$)`))
  expect(await runCommand({}, 'help', name)).toEqual({ code: 0, out, err: '' })
  const usage = [name, command?.values].filter(Boolean).join(' ')
  expect(readFileSync('README.md', 'utf8')).toContain(`| \`${usage}\` | ${command?.about} |\n`)
})

it('lists all commands, and says what there is when one is unknown', async () => {
  const { out } = await runCommand({}, '--help')
  for (const name of names) expect(out).toMatch(new RegExp(`^  ${name}( |$)`, 'm'))
  expect(await runCommand({}, 'help')).toEqual({ code: 0, out, err: '' })
  expect(await runCommand({})).toEqual({ code: 2, out: '', err: out })
  expect(await runCommand({}, 'backups')).toEqual({ code: 2, out: '', err: `Unknown command "backups".\n\n${out}` })
  expect(await runCommand({}, 'help', 'backups')).toEqual({ code: 2, out: '', err: `Unknown command "backups".\n\n${out}` })
})

it.each([
  [['collect', '--force'], "Unknown option '--force'."],
  [['collect', '--confirm=yes'], "Option '--confirm' does not take an argument."],
  [['collect', 'everything'], 'Wrong number of values: npm run admin -- collect [--dry-run] [--confirm]'],
  [['backup'], 'Wrong number of values: npm run admin -- backup <place>'],
  [['backup', ''], 'Wrong number of values'],
])('refuses what a command does not take, and says what it does: %j', async (words, message) => {
  const { code, out, err } = await runCommand({}, ...words)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(message)
  expect(err).toContain(`Usage: npm run admin -- ${words[0]}`)
})

it('prints one JSON object on stdout, whatever comes of the command', async () => {
  await using app = await testApp()
  await app.owner()
  expect(await adminJson(app, 'check-integrity')).toMatchObject({ code: 0, err: '', body: { ok: true, archives: 0, findings: [] } })
  expect(await adminJson(app, 'collect', '--dry-run')).toMatchObject({ code: 0, body: { ok: true, dryRun: true, removed: [] } })
  expect(await adminJson(app, 'list-addresses')).toMatchObject({ code: 0, body: { addresses: [{ address: expect.any(String) }] } })
  expect(await adminJson(app, 'make-owner', 'nobody@example.com')).toEqual({
    code: 1,
    err: 'There is no user with the e-mail address nobody@example.com.',
    body: { ok: false, error: { code: 'NotFound', message: 'There is no user with the e-mail address nobody@example.com.' } },
  })
  const unfit = await runCommand({ ...environmentOf(app), JWT_SECRET: 'short' }, 'list-addresses', '--json')
  expect(unfit).toMatchObject({ code: 78, err: expect.stringContaining('JWT_SECRET') })
  expect(JSON.parse(unfit.out)).toMatchObject({ ok: false, error: { code: 'InvalidConfiguration' } })
  expect(await admin(app, 'list-addresses')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('(last used ') })
})
