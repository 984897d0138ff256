import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { adopt } from '../../server/operations/admin/storage.ts'
import { commands } from '../../server/operations/admin/registry.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'
import { shaOf } from '../support/stored-blobs.ts'
import { admin, adminJson, environmentOf, runCommand } from '../support/admin.ts'
import { createDatabase } from '../support/postgres.ts'

const names = [...commands.keys()]

it.each(names)('prints help with an example and has a row in the help page: %s', async (name) => {
  const command = commands.get(name)
  const { code, out } = await runCommand({}, name, '--help')
  expect(code).toBe(0)
  expect(out).toMatch(new RegExp(`^Usage: npm run admin -- ${name}\\b`))
  expect(out).toMatch(new RegExp(`\nExamples?:\n  npm run admin -- ${name}\\b`))
  for (const example of command?.examples ?? []) expect(example).toMatch(new RegExp(`^${name}( |$)`))
  expect(await runCommand({}, 'help', name)).toEqual({ code: 0, out, err: '' })
  const usage = [name, command?.values].filter(Boolean).join(' ')
  expect(readFileSync('web/help/command-line.md', 'utf8')).toContain(`| \`${usage}\` | ${command?.about} |\n`)
})

it('lists all commands, also after an unknown one', async () => {
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
])('refuses unknown arguments and prints the usage: %j', async (words, message) => {
  const { code, out, err } = await runCommand({}, ...words)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(message)
  expect(err).toContain(`Usage: npm run admin -- ${words[0]}`)
})

it.each([
  [2, ['restore-archive', 'acme'], 'Give the SHA-256 of the archive'],
  [2, ['move-blobs', 'tape'], 'Unknown store tape: write s3 or filesystem.'],
  [2, ['backup', 's3://'], 'The place for backups cannot be used'],
  [2, ['remember-address', 'nowhere'], 'nowhere is not a valid server address.'],
  [2, ['verify-audit', 'svc'], 'svc is not a valid hash'],
  [1, ['import-advisories', import.meta.filename], ''],
  [1, ['revoke-token', 'svc_pat_x'], 'There is no token'],
  [78, ['move-blobs', 's3'], 'S3_BUCKET is not set'],
])('exits with %i for %j and reports the error', async (code, words, message) => {
  await using app = await testApp()
  expect(await runCommand({ ...environmentOf(app), S3_BUCKET: '' }, ...words)).toEqual({
    code,
    out: '',
    err: expect.stringContaining(message),
  })
})

it('reports that a database is empty and what to do', async () => {
  await using app = await testApp()
  const environment: Record<string, string> = environmentOf(app)
  if (app.config.DB_BACKEND === 'postgres') {
    const { url, drop } = await createDatabase()
    onTestFinished(drop)
    environment['POSTGRES_URL'] = url
  } else {
    environment['SQLITE_PATH'] = join(app.config.DATA_DIR, 'empty.sqlite')
    await writeFile(environment['SQLITE_PATH'], '')
  }
  const { code, err } = await runCommand(environment, 'users')
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^There is nothing in the database .* yet\. Start the server once; or if it should have packages/),
  ])
  const { checks } = JSON.parse((await runCommand(environment, 'doctor', '--quick', '--json')).out)
  expect(checks.find(({ name }: { name: string }) => name === 'migrations')).toMatchObject({
    status: 'warning',
    message: 'The database is empty.',
  })
})

it('prints one JSON object to stdout, on success and on failure', async () => {
  await using app = await testApp()
  await app.owner()
  expect(await adminJson(app, 'check-integrity')).toMatchObject({ code: 0, err: '', body: { ok: true, archives: 0, findings: [] } })
  expect(await adminJson(app, 'collect', '--dry-run')).toMatchObject({ code: 0, body: { ok: true, dryRun: true, removed: [] } })
  expect(await adminJson(app, 'list-addresses')).toMatchObject({ code: 0, body: { addresses: [{ address: expect.any(String) }] } })
  expect(await adminJson(app, 'make-owner', 'unknown@example.com')).toEqual({
    code: 1,
    err: 'There is no user with the e-mail address unknown@example.com.',
    body: { ok: false, error: { code: 'NotFound', message: 'There is no user with the e-mail address unknown@example.com.' } },
  })
  const unfit = await runCommand({ ...environmentOf(app), JWT_SECRET: 'short' }, 'list-addresses', '--json')
  expect(unfit).toMatchObject({ code: 78, err: expect.stringContaining('JWT_SECRET') })
  expect(JSON.parse(unfit.out)).toMatchObject({ ok: false, error: { code: 'InvalidConfiguration' } })
  expect(await admin(app, 'list-addresses')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('(last used ') })
})

it('records changes to the store and to the server addresses in the audit log', async () => {
  await using app = await testApp({ alone: true })
  const sha256 = shaOf(await publish(await app.member(), { name: 'acme', version: '1.0.0' }))
  const { blobs, database } = app.services
  for (const words of [
    ['remember-address', 'https://before.example'],
    ['forget-address', 'https://before.example'],
  ])
    expect(await admin(app, ...words)).toMatchObject({ code: 0, err: '' })
  await blobs.remove(sha256, { at: new Date() })
  expect(await admin(app, 'restore-archive', 'acme', '1.0.0')).toMatchObject({ code: 0, err: '' })
  await adopt({ em: database.fork(), config: app.config })
  const { entries } = (await (await app.admin()).get('/api/admin/audit-log?kind=server.settings_updated')).body
  const summaries = [
    `tied the archive store ${app.config.BLOB_PATH} to this database`,
    `put the removed archive of acme 1.0.0 (${sha256}) back into the store`,
    'removed https://before.example from the addresses of this server',
    'added https://before.example to the addresses of this server',
  ]
  expect(entries).toMatchObject(summaries.map((done) => ({ agent: null, summary: `The operator ${done}, on the command line` })))
})

it.each(['import-advisories', 'import-sdk'])('reports what is wrong with the file given to %s', async (command) => {
  await using app = await testApp()
  const folder = mkdtempSync(join(tmpdir(), 'snug-given-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  expect(await admin(app, command, folder)).toEqual({ code: 1, out: '', err: `${folder} is a folder. Name a file.` })
  const none = join(folder, 'none.json')
  const err = `File ${none} not found (ENOENT). Relative paths are resolved from ${process.cwd()}.`
  expect(await admin(app, command, none)).toEqual({ code: 1, out: '', err })
})
