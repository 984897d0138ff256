import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { secretForTests } from '../../support/server-process.ts'
import { root } from '../../support/sources.ts'

const run = pathToFileURL(join(root, 'server/operations/admin/run.ts')).href
const advice = 'permission denied. Run the command as the account of the server.'

/** Creates the data of a server that only its account can read, and a backup folder. */
function createPrivateData() {
  const folder = mkdtempSync(join(tmpdir(), 'snug-account-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const data = join(folder, 'data')
  mkdirSync(join(data, 'blobs'), { recursive: true })
  mkdirSync(join(folder, 'backups/snapshots'), { recursive: true })
  writeFileSync(join(data, 'registry.sqlite'), '')
  for (const closed of [data, join(folder, 'backups')]) chmodSync(closed, 0o700)
  chmodSync(folder, 0o755)
  return { data, backups: join(folder, 'backups') }
}

/** Runs a command as an account without access to the data and returns its output. */
function runAsOtherAccount(data: string, words: string[], settings = {}): { code: number; out: string; err: string } {
  const environment = { SERVER_URL: 'http://localhost:1', JWT_SECRET: secretForTests, DATA_DIR: data, ...settings }
  const code = `const { runAdmin } = await import('${run}')
    if (process.getuid() === 0) process.setuid(65534)
    const said = { out: '', err: '' }
    const code = await runAdmin(${JSON.stringify(words)}, {
      out: (text) => void (said.out += text), err: (text) => void (said.err += text), environment: ${JSON.stringify(environment)},
    })
    console.log(JSON.stringify({ code, ...said }))
    process.exit(0)`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' }))
}

// Only root can switch to another account.
it.skipIf(process.getuid?.() !== 0)('reports missing permissions instead of missing files to another account', () => {
  const { data, backups } = createPrivateData()
  const database = `${join(data, 'registry.sqlite')} cannot be opened: ${advice}`
  expect(runAsOtherAccount(data, ['users'])).toEqual({ code: 1, out: '', err: database })
  expect(runAsOtherAccount(data, ['verify', backups])).toEqual({
    code: 1,
    out: '',
    err: `${join(backups, 'snapshots/')} cannot be read: ${advice}`,
  })
  const { code, out } = runAsOtherAccount(data, ['doctor', '--quick', '--json'], { BACKUP_TO: join(backups, 'below') })
  expect(code).toBe(1)
  expect(JSON.parse(out).checks).toEqual(
    expect.arrayContaining([
      { name: 'database', status: 'failed', message: database },
      { name: 'store', status: 'failed', message: `${join(data, 'blobs')} cannot be read: ${advice}` },
      { name: 'backups', status: 'failed', message: `${join(backups, 'below')} cannot be read: ${advice}` },
    ]),
  )
})
