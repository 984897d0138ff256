import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { adopt } from '../../server/operations/admin/storage.ts'
import { openFilesystemBlobs } from '../../server/platform/blobs/filesystem.ts'
import { type Config, ConfigError } from '../../server/platform/config/config.ts'
import { openLog } from '../../server/platform/http/log.ts'
import { openServices } from '../../server/open-services.ts'
import { adoptStore, joinStore } from '../../server/platform/store/identity.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { createDatabase } from '../support/postgres.ts'
import { publish } from '../support/publish.ts'
import { markerOf, pathOf, plantOrphans, shaOf } from '../support/stored-blobs.ts'

const log = openLog('error', () => {})
const idOf = async ({ services }: TestApp) =>
  (await services.database.reads.get<{ value: string }>("select value from server_settings where key = 'store.id'"))?.value
const execute = ({ services }: TestApp, sql: string) => services.database.fork().getConnection().execute(sql)

/** Opens and closes the services as at startup. Returns the refusal, or null. */
async function tryStart(config: Config): Promise<string | null> {
  try {
    const { database } = await openServices(config, log)
    await database.close()
    return null
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.join('\n')
  }
}

/** Creates a server with a package for tests that stop it. */
async function createServer() {
  const app = await testApp()
  const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const id = await idOf(app)
  const forget = {
    row: "delete from server_settings where key = 'store.id'",
    marker: () => rm(markerOf(app)),
  }
  return { app, archive, id, forget, path: pathOf(app, shaOf(archive)), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

/** Returns settings with a new, empty database. */
async function withNewDatabase({ config }: TestApp): Promise<Config> {
  if (config.DB_BACKEND === 'sqlite') return { ...config, SQLITE_PATH: `${config.SQLITE_PATH}.other` }
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { ...config, POSTGRES_URL: url }
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'snug-store-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

it('starts with its own store and refuses the store of another database', async () => {
  await using one = await createServer()
  await using other = await createServer()
  expect(one.id).toBe(JSON.stringify((await readFile(markerOf(one.app), 'utf8')).trim()))
  expect(one.id).not.toBe(other.id)
  await one.app.stop()
  await other.app.stop()
  expect(await tryStart(one.app.config)).toBeNull()
  const mixed = { ...one.app.config, BLOB_PATH: other.app.config.BLOB_PATH }
  const refusal = await tryStart(mixed)
  expect(refusal).toContain(`The archive store ${mixed.BLOB_PATH} belongs to another database than the database `)
  expect(refusal).toContain('npm run admin -- adopt-store')
  expect(refusal).not.toMatch(/:[^@\s/]+@/) // The refusal contains no password.
  expect([existsSync(one.path), existsSync(other.path)]).toEqual([true, true])
  expect(await tryStart(other.app.config)).toBeNull()
})

it('refuses archives with a new database and changes neither', async () => {
  await using server = await createServer()
  const config = await withNewDatabase(server.app)
  expect(await tryStart(config)).toMatch(/has archives, but the database .* has no packages/)
  expect(existsSync(server.path)).toBe(true)
  expect(existsSync(config.SQLITE_PATH) && config.DB_BACKEND === 'sqlite').toBe(false)
  // The second attempt is refused as well, whatever the first one left.
  expect(await tryStart(config)).toMatch(/has no packages/)
  await server.app.stop()
  expect(await tryStart(server.app.config)).toBeNull()
})

it('refuses packages without their archives: an empty or a foreign store', async () => {
  await using server = await createServer()
  await server.app.stop()
  const elsewhere = { ...server.app.config, BLOB_PATH: await emptyFolder() }
  expect(await tryStart(elsewhere)).toMatch(/has packages, but the archive store .* has no archives: it is new, not mounted/)
  expect(existsSync(markerOf({ config: elsewhere }))).toBe(false)
  plantOrphans({ config: elsewhere }, 3)
  expect(await tryStart(elsewhere)).toMatch(/does not have the archives of the packages in/)
})

it('names a missing PostgreSQL database and does not create it', async () => {
  await using app = await testApp()
  if (app.config.DB_BACKEND === 'sqlite') return expect(existsSync(app.config.SQLITE_PATH)).toBe(true)
  const url = new URL(app.config.POSTGRES_URL ?? '')
  url.pathname = '/no_such_registry'
  const config = { ...app.config, POSTGRES_URL: url.href, BLOB_PATH: await emptyFolder() }
  for (let times = 0; times < 2; times++) {
    const refusal = await tryStart(config)
    expect(refusal).toMatch(/^POSTGRES_URL: the database "no_such_registry" on .* does not exist, and the server creates none/)
    expect(refusal).not.toContain(url.password)
  }
  return undefined
})

it('names the PostgreSQL host when it is unreachable or refuses the account', async () => {
  await using app = await testApp()
  const given = app.config.POSTGRES_URL ?? 'postgres://snug:a-secret@127.0.0.1:1/snug'
  const starting = async (change: (url: URL) => void) => {
    const url = new URL(given)
    change(url)
    const config: Config = { ...app.config, DB_BACKEND: 'postgres', POSTGRES_URL: url.href, BLOB_PATH: await emptyFolder() }
    return openServices(config, log).then(
      () => null,
      (error: unknown) => error,
    )
  }
  const reason = { '127.0.0.1': 'connect ECONNREFUSED 127.0.0.1:1', 'nowhere.invalid': 'getaddrinfo \\w+ nowhere.invalid' }
  for (const [host, why] of Object.entries(reason)) {
    const unreachable = await starting((url) => Object.assign(url, { hostname: host, port: '1' }))
    // The database may still start, so this is not a configuration error.
    expect(unreachable).not.toBeInstanceOf(ConfigError)
    expect(String(unreachable)).toMatch(
      new RegExp(`^Error: Cannot connect to PostgreSQL at ${host}:1: ${why}. Check that it runs .* in POSTGRES_URL.$`),
    )
  }
  if (app.config.DB_BACKEND === 'sqlite') return
  const refused = await starting((url) => Object.assign(url, { password: 'not-it' }))
  expect(refused).toBeInstanceOf(ConfigError)
  expect(String(refused)).toMatch(/POSTGRES_URL: PostgreSQL at 127.0.0.1:\d+ refuses the account: password authentication failed/)
  expect(String(refused)).not.toContain('not-it')
  const encrypted = await starting((url) => url.searchParams.set('sslmode', 'require'))
  expect(String(encrypted)).toMatch(/^Error: Cannot connect to PostgreSQL at 127.0.0.1:\d+: The server does not support SSL connections\. /)
})

it('links database and store of an older version and after a crash', async () => {
  await using server = await createServer()
  const { app, forget, id } = server
  await execute(app, forget.row)
  await forget.marker()
  await app.stop()
  expect(await tryStart(app.config)).toBeNull()
  const upgraded = (await readFile(markerOf(app), 'utf8')).trim()
  expect(upgraded).not.toBe(id)
  // The database has the id, but the power failed before the store did.
  await forget.marker()
  expect(await tryStart(app.config)).toBeNull()
  expect((await readFile(markerOf(app), 'utf8')).trim()).toBe(upgraded)
})

it('allows a new database to take over an empty store and refuses the previous one afterwards', async () => {
  await using first = await testApp()
  await first.stop()
  const config = await withNewDatabase(first)
  expect(await tryStart(config)).toBeNull()
  expect(await tryStart(config)).toBeNull()
  expect(await tryStart(first.config)).toMatch(/belongs to another database/)
})

it("adopts a store on the operator's command, also with a new database", async () => {
  await using one = await createServer()
  await using other = await createServer()
  await one.app.stop()
  const mixed = { ...other.app.config, BLOB_PATH: one.app.config.BLOB_PATH }
  expect(await adopt({ em: other.app.services.database.fork(), config: mixed })).toContain('now belongs to this database')
  await other.app.stop()
  expect(await tryStart(mixed)).toBeNull()
  expect(await tryStart(one.app.config)).toMatch(/belongs to another database/)
  expect(await tryStart(other.app.config)).toMatch(/belongs to another database/)
})

it('refuses to adopt the remains of an interrupted restore, which must be repeated', async () => {
  await using server = await createServer()
  const { app } = server
  const mark = 'restoring 20261122T031500000Z'
  await writeFile(markerOf(app), mark)
  const adopted = adopt({ em: app.services.database.fork(), config: app.config })
  await expect(adopted).rejects.toThrow(/was interrupted.*restore <place>/s)
  expect([await app.services.blobs.identity(), await idOf(app)]).toEqual([mark, server.id])
})

it("collects nothing once the store's identity differs or is missing", async () => {
  await using server = await createServer()
  const { app } = server
  const orphans = plantOrphans(app, 1)
  await writeFile(markerOf(app), 'another\n')
  await expect(collectGarbage(app.services)).rejects.toThrow('does not belong to this database')
  await rm(markerOf(app))
  await expect(collectGarbage(app.services)).rejects.toThrow('does not belong to this database')
  expect(orphans.every((sha256) => existsSync(pathOf(app, sha256)))).toBe(true)
})

it('assigns one id when instances start concurrently', async () => {
  await using app = await testApp()
  const { database } = app.services
  for (let round = 0; round < 50; round++) {
    await execute(app, "delete from server_settings where key = 'store.id'")
    if (round % 2) await rm(markerOf(app))
    const blobs = await Promise.all([1, 2, 3].map(() => openFilesystemBlobs(app.config.BLOB_PATH)))
    await Promise.all(blobs.map((store) => joinStore(database.fork(), store, app.config)))
    expect(await idOf(app)).toBe(JSON.stringify(await blobs[0]?.identity()))
  }
  await adoptStore(database.fork(), app.services.blobs)
  expect(await idOf(app)).toBe(JSON.stringify(await app.services.blobs.identity()))
  expect(readdirSync(app.config.BLOB_PATH).toSorted()).toEqual(['removed', 'sha256', 'staging', 'store-id'])
})
