import { createHash } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { dartFiles, zipOf } from '../support/sdk-archives.ts'

// Each run of the command starts a new process.
vi.setConfig({ testTimeout: 90_000 })

const launcher = fileURLToPath(new URL('../../server/platform/launch/snug.mjs', import.meta.url))

type Result = { code: number; out: string; err: string }

/** Runs the real command in its own process. */
function runAdmin(env: Record<string, string>, ...args: string[]): Promise<Result> {
  const { PATH = '', HOME = '' } = process.env
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [launcher, 'admin', ...args],
      { env: { PATH, HOME, NODE_ENV: 'test', BCRYPT_COST: '4', ...env } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

/** Returns the settings of the server as environment variables for the operator's shell. */
function settings({ config }: TestApp): Record<string, string> {
  const { SERVER_URL, JWT_SECRET, DATA_DIR, DB_BACKEND, SQLITE_PATH, POSTGRES_URL = '' } = config
  return { SERVER_URL, JWT_SECRET, DATA_DIR, DB_BACKEND, SQLITE_PATH, POSTGRES_URL }
}

const login = (app: TestApp, email: string, password: string) =>
  app.anonymous.post('/api/auth/login', { email, password }, { ip: app.address() })
const passwordIn = (out: string) => /: (\S+)\n/.exec(out)?.[1] ?? ''

it('prints a one-time password while the server runs and after it was stopped', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  const browser = await owner.session()
  const { code, out, err } = await runAdmin(settings(app), 'reset-password', ` ${owner.email.toUpperCase()} `)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(
    new RegExp(`^New password of ${owner.email}: [2-9A-HJ-NP-Za-km-np-z]{16}\nSign in with it at http://localhost:8080/login`),
  )
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await owner.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await login(app, owner.email, 'correct horse')).toMatchObject({ status: 401 })
  expect(await login(app, owner.email, passwordIn(out))).toMatchObject({ status: 200, body: { mustChangePassword: true } })
  const log = await (await app.admin()).get('/api/admin/audit-log?kind=user.password_reset')
  expect(log.body.entries).toMatchObject([
    {
      summary: `The operator reset the password of ${owner.user.displayName}, on the command line`,
      agent: null,
      user: { userId: owner.id },
      clientIp: null,
    },
  ])

  await app.stop()
  const again = await runAdmin(settings(app), 'reset-password', owner.email)
  expect(again.code).toBe(0)
  await using restarted = await testApp({ sameDatabaseAs: app })
  expect(await login(restarted, owner.email, passwordIn(out))).toMatchObject({ status: 401 })
  expect(await login(restarted, owner.email, passwordIn(again.out))).toMatchObject({ status: 200 })
})

it('transfers ownership immediately', async () => {
  await using app = await testApp()
  const [owner, viewer] = [await app.owner(), await app.viewer()]
  const { code, out } = await runAdmin(settings(app), 'make-owner', viewer.email)
  expect([code, out]).toEqual([0, `${viewer.email} is the owner now. ${owner.email} is an administrator.\n`])
  expect((await viewer.get('/api/auth/me')).body.role).toBe('owner')
  expect((await owner.get('/api/auth/me')).body.role).toBe('admin')
  const { entries } = (await owner.get('/api/admin/audit-log?kind=owner.transferred')).body
  expect(entries).toMatchObject([
    {
      summary: `The operator made ${viewer.user.displayName} the owner in place of Olive Owner, on the command line`,
      agent: null,
      user: { userId: viewer.id },
    },
  ])
  expect(await runAdmin(settings(app), 'make-owner', viewer.email)).toMatchObject({
    code: 0,
    out: `${viewer.email} is already the owner.\n`,
  })
})

it('refuses unknown users and users who cannot sign in, and changes nothing', async () => {
  await using app = await testApp()
  const [owner, admin, disabled] = [await app.owner(), await app.admin(), await app.member({ isActive: false })]
  const { body: invited } = await admin.post('/api/admin/users', { email: 'ivy@example.com', displayName: 'Ivy', mode: 'invite' })
  for (const [args, message] of [
    [['reset-password', 'unknown@example.com'], 'There is no user with the e-mail address unknown@example.com.'],
    [['make-owner', 'unknown@example.com'], 'There is no user'],
    [['make-owner', disabled.email], 'is disabled'],
    [['make-owner', invited.email], 'has no password yet'],
  ] as const) {
    const { code, out, err } = await runAdmin(settings(app), ...args)
    expect([code, out], args.join(' ')).toEqual([1, ''])
    expect(err).toContain(message)
  }
  expect((await owner.get('/api/auth/me')).body.role).toBe('owner')
  const { out } = await runAdmin(settings(app), 'reset-password', invited.email)
  expect(await app.anonymous.get(new URL(invited.inviteUrl).pathname.replace('/invite/', '/api/invites/'))).toMatchObject({ status: 404 })
  expect(await login(app, invited.email, passwordIn(out))).toMatchObject({ status: 200 })
})

it('refuses a database that this version has not migrated yet', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await app.services.database.fork().getConnection().execute("delete from schema_migrations where name like '%_audit_order'")
  expect(await runAdmin(settings(app), 'make-owner', alice.email)).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^The database was last used by an older version\./),
  })
})

it('waits for its turn to write', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const resets = [runAdmin(settings(app), 'reset-password', alice.email), runAdmin(settings(app), 'make-owner', alice.email)]
  const tokens: number[] = []
  const busy = (async () => {
    while (tokens.length < 60) tokens.push((await alice.post('/api/auth/keys', { name: `key ${tokens.length}` })).status)
  })()
  expect((await Promise.all(resets)).map(({ code, err }) => [code, err])).toEqual([
    [0, ''],
    [0, ''],
  ])
  await busy
  expect(new Set(tokens)).toEqual(new Set([201]))
})

it('prints its usage and errors in the settings', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snug-admin-'))
  const env = { SERVER_URL: 'http://localhost:8080', JWT_SECRET: 'a secret for tests that is long enough', DATA_DIR: folder }
  try {
    for (const args of [
      [],
      ['reset-password'],
      ['delete-everything', 'a@example.com'],
      ['make-owner', 'a@example.com', 'b@example.com'],
      ['toString', 'a@example.com'],
    ]) {
      expect(await runAdmin(env, ...args)).toEqual({ code: 2, out: '', err: expect.stringMatching(/^Usage: npm run admin -- /m) })
    }
    expect(await runAdmin(env, '--help')).toEqual({ code: 0, out: expect.stringContaining('reset-password'), err: '' })
    expect(await runAdmin({ ...env, JWT_SECRET: 'short' }, 'make-owner', 'a@example.com')).toMatchObject({
      code: 78,
      err: expect.stringContaining('JWT_SECRET'),
    })
    expect(await runAdmin(env, 'make-owner', 'a@example.com')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^There is no database at .*registry\.sqlite\. Start the server once\.\n$/),
    })
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('checks the stored archives and fails when one is missing', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await runAdmin(settings(app), 'check-integrity')).toEqual({
    code: 0,
    out: '1 archives checked: 0 missing, 0 damaged. 0 orphaned.\n',
    err: '',
  })
  const sha256 = createHash('sha256').update(archive).digest('hex')
  await app.services.blobs.remove(sha256, { at: new Date() })
  expect(await runAdmin(settings(app), 'check-integrity')).toMatchObject({
    code: 1,
    out: expect.stringMatching(new RegExp(`^missing: acme 1.0.0 ${sha256}\n1 archives checked: 1 missing`)),
    err: '',
  })
})

it('imports an SDK archive, which the server then installs, and reports invalid files', async () => {
  await using app = await testApp()
  const path = join(app.config.DATA_DIR, 'dartsdk.zip')
  await writeFile(path, await zipOf(dartFiles('3.11.0')))
  expect(await runAdmin(settings(app), 'import-sdk', path)).toEqual({
    code: 0,
    out: 'Dart 3.11.0 (stable) was imported. The server installs it now, or when it starts. For the progress see /admin/sdks.\n',
    err: '',
  })
  await runJobs(app)
  const { installs } = (await (await app.admin()).get('/api/admin/sdk/installs')).body
  expect(installs).toMatchObject([{ version: '3.11.0', status: 'ready', isDefault: true }])
  await writeFile(path, 'hello')
  expect(await runAdmin(settings(app), 'import-sdk', path)).toEqual({
    code: 1,
    out: '',
    err: 'The archive is neither a zip nor a tar.xz file.\n',
  })
  expect(await runAdmin(settings(app), 'import-sdk', `${path}.none`)).toMatchObject({ code: 1, err: expect.stringContaining('ENOENT') })
})

it.each([
  ['true', '0', ''],
  ['head -1', '0', 'Usage: npm run admin -- <command> [--json]\n'],
])('exits quietly when its output is read by `%s`', async (reader, code, read) => {
  const { PATH = '' } = process.env
  const command = `set -o pipefail; { "$0" "$@" | ${reader}; } 2>&1; echo "code $?"`
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, launcher, 'admin', 'help'], { env: { PATH } })
  expect(stdout).toBe(`${read}code ${code}\n`)
})

it('fails with a message when the disk is too full for its output', async () => {
  const { PATH = '' } = process.env
  const command = '{ "$0" "$@" >/dev/full; } 2>&1; echo "code $?"'
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, launcher, 'admin', 'help'], { env: { PATH } })
  expect(stdout).toMatch(/^The output could not be written: ENOSPC: .*\ncode 1\n$/)
})
