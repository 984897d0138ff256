import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'

const root = join(import.meta.dirname, '../..')
const execute = promisify(execFile)

/** Runs a command of MikroORM's command line. Settings that are not given have their defaults. */
async function mikroOrm(command: string, settings: Record<string, string>) {
  const { PATH = '' } = process.env
  const args = [join(root, 'node_modules/@mikro-orm/cli/cli.js'), command]
  const run = execute(process.execPath, args, { cwd: root, env: { PATH, NO_COLOR: '1', ...settings } })
  const { code, stdout } = await run.then(
    (done) => ({ ...done, code: 0 }),
    (error: { code: number; stdout: string }) => error,
  )
  return { code, output: stdout }
}

const settingsOf = ({ config: { DB_BACKEND, POSTGRES_URL, SQLITE_PATH } }: TestApp): Record<string, string> =>
  DB_BACKEND === 'postgres' && POSTGRES_URL ? { DB_BACKEND, POSTGRES_URL } : { SQLITE_PATH }

it('connects the command line of MikroORM to the database of the settings', async () => {
  await using app = await testApp()
  const settings = settingsOf(app)
  const debug = await mikroOrm('debug', settings)
  expect(debug.output).toContain('database connection successful')
  expect(debug.code).toBe(0)
  expect(await mikroOrm('migration:check', settings)).toMatchObject({ code: 0, output: expect.stringContaining('No changes required') })
  const pending = await mikroOrm('migration:pending', settings)
  expect(pending.code).toBe(0)
  expect(pending.output).not.toContain('Migration2026')
})

it('opens the database of the data folder by default, and lists its pending migrations', async ({ skip }) => {
  await using app = await testApp()
  if (app.services.database.backend !== 'sqlite') skip()
  const folder = await mkdtemp(join(tmpdir(), 'snug-command-line-'))
  try {
    const { code, output } = await mikroOrm('migration:pending', { DATA_DIR: folder })
    expect({ code, isListed: output.includes('Migration20261127000811_package_requirements') }).toEqual({ code: 0, isListed: true })
    expect((await mikroOrm('migration:check', { DATA_DIR: folder })).code).toBe(1)
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('reports settings that are invalid', async () => {
  const { output } = await mikroOrm('debug', { DB_BACKEND: 'postgres' })
  expect(output).toContain('POSTGRES_URL: is required with DB_BACKEND=postgres')
})
