import { expect, it, onTestFinished } from 'vitest'
import { createBackup } from '../../server/operations/backup/create.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { holdSetting } from '../../server/platform/store/hold.ts'
import { ownerSetting } from '../../server/operations/backup/owner.ts'
import { moveDatabase } from '../../server/operations/move/move.ts'
import type { Config } from '../../server/platform/config/config.ts'
import { openDatabase } from '../../server/platform/db/open/orm.ts'
import { openStores } from '../../server/platform/store/open.ts'
import { testApp } from '../app.ts'
import { fillAllTables, guarded, readAllTables } from '../support/all-tables.ts'
import { emptyPlace, folderOfTest } from '../support/backups.ts'
import { createDatabase } from '../support/postgres.ts'

/** Opens the database of a place, without a server. */
async function inDatabase<Result>(
  config: Config,
  work: (em: ReturnType<Awaited<ReturnType<typeof openDatabase>>['fork']>) => Promise<Result>,
) {
  const database = await openDatabase(config)
  try {
    return await work(database.fork())
  } finally {
    await database.close()
  }
}

/** Fills a new database, and returns all rows. */
const fill = (config: Config) =>
  inDatabase(config, async (em) => {
    await fillAllTables(em)
    await em.execute(`insert into server_settings (key, value) values ('store.id', '"all tables"')`)
    return readAllTables(em)
  })

/** Settings that belong to one server or database, and to its search index. */
const own: string[] = [holdSetting.key, ownerSetting.key, 'search.indexForm', 'search.renewedTo']
const withoutOwn = ({ server_settings: settings = [], ...tables }: Record<string, object[]>) => ({
  ...tables,
  server_settings: settings.filter((row) => !('key' in row && own.includes(String(row.key)))),
})

it('restores every row of every table with every value', async () => {
  await using app = await testApp()
  const [source, target] = [await emptyPlace(app), await emptyPlace(app)]
  const rows = await fill(source)
  const short = Object.entries(rows).flatMap(([table, { length }]) => (length < 2 && table !== guarded ? [table] : []))
  expect(short).toEqual([])
  const folder = folderOfTest()
  await inDatabase(source, async (em) =>
    createBackup({ em, config: source, stores: await openStores(source), now: () => new Date() }, folder),
  )
  await restoreBackup(target, folder)
  expect(withoutOwn(await inDatabase(target, readAllTables))).toEqual(withoutOwn(rows))
})

it.runIf(process.env.TEST_DB === 'postgres')('moves every row of every table with every value', async () => {
  await using app = await testApp()
  const source = { ...(await emptyPlace(app)), DB_BACKEND: 'sqlite' as const }
  const rows = await fill(source)
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const target = { ...source, DB_BACKEND: 'postgres' as const, POSTGRES_URL: url }
  await moveDatabase(source, target, () => {})
  expect(withoutOwn(await inDatabase(target, readAllTables))).toEqual(withoutOwn(rows))
})
