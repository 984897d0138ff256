import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Config } from '../../server/platform/config/config.ts'
import { openLog } from '../../server/platform/http/log.ts'
import { openServices } from '../../server/open-services.ts'
import { type TestApp, testApp } from '../app.ts'
import { folderOfTest } from '../support/backups.ts'
import { publish } from '../support/publish.ts'

/** Returns settings with empty locations below `folder` for everything except the database. */
function configIn({ config }: TestApp, folder: string): Config {
  const at = (name: string) => join(folder, name)
  return {
    ...config,
    DATA_DIR: at('data'),
    BLOB_PATH: at('blobs'),
    DOCS_BACKEND: 'filesystem',
    DOCS_PATH: at('docs'),
    BACKUP_TO: at('backups'),
  }
}

const start = (config: Config) =>
  openServices(
    config,
    openLog('error', () => {}),
  )

it('creates no folders before database and settings are known to be usable', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const execute = (sql: string) => app.services.database.orm.em.getConnection().execute(sql)
  const folder = folderOfTest()
  const config = configIn(app, folder)
  const later = 'Migration29990101000001_later'
  await execute(`insert into schema_migrations (name) values ('${later}')`)
  await execute(`update server_settings set value = '"99.0.0"' where key = 'schema.oldest_version'`)
  await app.stop()
  await expect(start(config)).rejects.toThrow('was written by a newer version')
  expect(readdirSync(folder)).toEqual([])

  const file = join(folder, 'file')
  writeFileSync(file, '')
  await expect(start({ ...config, DOCS_PATH: file })).rejects.toThrow(`DOCS_PATH: ${file} cannot be created`)
  await expect(start({ ...config, BACKUP_TO: file })).rejects.toThrow(`BACKUP_TO: ${file} is a file`)
  await expect(start({ ...config, BACKUP_TO: join(file, 'below') })).rejects.toThrow(`below cannot be created`)
  expect(readdirSync(folder)).toEqual(['file'])
})

it('creates no folders where existing archives are expected', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  const config = configIn(app, folder)
  await app.stop()
  await expect(start(config)).rejects.toThrow('has no archives: it is new, not mounted')
  expect(readdirSync(folder)).toEqual([])
  mkdirSync(config.BLOB_PATH)
  await expect(start(config)).rejects.toThrow('has no archives: it is new, not mounted')
  expect([readdirSync(folder), readdirSync(config.BLOB_PATH)]).toEqual([['blobs'], []])
})
