import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { createDatabase } from '../support/postgres.ts'
import { folderForTest, json, ownersToken, publishTo, start } from '../support/server-process.ts'

/** The archives in a folder's store, all made two days old, so that a collection would take them. */
function archivesIn(folder: string): string[] {
  const root = join(folder, 'blobs', 'sha256')
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { parentPath, name } of files) utimesSync(join(parentPath, name), 0, 0)
  return files.map(({ name }) => name)
}

async function newDatabase(): Promise<Record<string, string>> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}

const databases = async (url: string): Promise<string[]> => {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database')
  await client.end()
  return rows.map(({ datname }) => datname)
}

it.each(['sqlite', 'postgres'])('a store with archives survives a start with another database (%s)', async (backend) => {
  const folder = folderForTest()
  const own = backend === 'sqlite' ? {} : await newDatabase()
  const first = await start(folder, own)
  const authorization = `Bearer ${await ownersToken(first)}`
  for (const version of ['1.0.0', '1.1.0']) await publishTo(first, authorization, await packageArchive({ name: 'acme', version }))
  first.process.kill('SIGKILL')
  await first.exit
  const archives = archivesIn(folder)
  expect(archives).toHaveLength(2)

  const otherFile = join(folder, 'other.sqlite')
  const others: Record<string, string>[] = [{ DB_BACKEND: 'sqlite', SQLITE_PATH: otherFile }, await newDatabase()]
  for (const other of others) {
    const refused = await start(folder, other)
    expect(await refused.exit).toBe(78)
    expect(refused.log()).toMatch(/ERROR The archive store .* has archives, but the database .* has no packages/)
    expect(refused.log()).toContain('npm run admin -- adopt-store')
    expect(archivesIn(folder)).toEqual(archives)
  }
  expect(existsSync(otherFile)).toBe(false)

  if (own.POSTGRES_URL) {
    const mistyped = new URL(own.POSTGRES_URL)
    mistyped.pathname += '_mistyped'
    const refused = await start(folder, { ...own, POSTGRES_URL: mistyped.href })
    expect(await refused.exit).toBe(78)
    expect(refused.log()).toContain(`the database "${mistyped.pathname.slice(1)}" on ${mistyped.host} does not exist`)
    expect(await databases(own.POSTGRES_URL)).not.toContain(mistyped.pathname.slice(1))
  }

  const again = await start(folder, own)
  expect((await json(`${again.url}/api/packages/acme`, undefined, { authorization })).body.versions).toHaveLength(2)
  again.process.kill('SIGTERM')
  await again.exit

  // On the operator's word, the other database has the store; the one before is refused then.
  const settings = {
    SERVER_URL: first.url,
    JWT_SECRET: 'a secret for tests that is long enough',
    DATA_DIR: folder,
    PATH: process.env.PATH,
    ...others[0],
  }
  expect(execFileSync(process.execPath, ['server/launch.mjs', 'admin', 'adopt-store'], { env: settings, encoding: 'utf8' })).toContain(
    'belongs to this database now',
  )
  expect(await (await start(folder, own)).exit).toBe(78)
  const adopted = await start(folder, others[0])
  expect(adopted.log()).toContain('Snug is ready')
  expect(archivesIn(folder)).toEqual(archives)
})
