import { MikroORM as PostgresOrm } from '@mikro-orm/postgresql'
import { Migrator } from '@mikro-orm/migrations'
import type { MikroORM } from '@mikro-orm/sql'
import { MikroORM as SqliteOrm } from '@mikro-orm/sqlite'
import { expect, it } from 'vitest'
import { migrate } from '../../server/platform/db/schema/migrate.ts'
import { migrationNames } from '../../server/platform/db/schema/migration-files.ts'
import { commonOptions, type DatabaseConfig } from '../../server/platform/db/options.ts'
import { entities } from '../../server/entities.ts'
import { type TestApp, testApp } from '../app.ts'
import { createDatabase } from '../support/postgres.ts'
import { publish } from '../support/publish.ts'

const columns = 'v.version, d.kind, d.name, d."constraint", d.hosted_url, d.sdk'
const stored = `select ${columns} from package_dependencies d join package_versions v on v.id = d.version_id order by 1, 2, 3`

/** Contains every accepted form of a dependency. */
const pubspec = `dependencies:
  plain: ^1.0.0
  blank: ' >=1.0.0   <2.0.0 '
  anything:
  flutter:
    sdk: flutter
  here:
    hosted: 'HTTP://LocalHost:8080/'
    version: ^1.2.0
  named:
    hosted: { name: named, url: 'https://pub.dartlang.org' }
  unaddressed:
    hosted: { name: unaddressed }
    version: '1.0.0'
  nothing:
    hosted:
    version: any
dev_dependencies:
  plain: any
  git_one:
    git: https://example.com/one.git
  git_two:
    git: { url: https://example.com/two.git }
    version: ^1.0.0
  path_one:
    path: ../one
  elsewhere:
    hosted: https://EXAMPLE.com:443/pub//
    version: any
`

/** Creates a database with the same packages and an older schema: by default, that before dependencies were stored as rows. */
async function createOlderDatabase(
  app: TestApp,
  to = 'Migration20261121000003_audit_order',
): Promise<{ orm: MikroORM; config: DatabaseConfig } & AsyncDisposable> {
  const connection = app.services.database.orm.em.getConnection()
  const packages: Record<string, unknown>[] = await connection.execute(
    'select id, created_at, name, updated_at, description, latest_version from packages',
  )
  const versions: Record<string, unknown>[] = await connection.execute(
    'select id, created_at, package_id, version, sort_key, is_prerelease, archive_sha256, archive_bytes, archive_crc32c, pubspec from package_versions',
  )
  const { DB_BACKEND } = app.config
  const database = DB_BACKEND === 'postgres' ? await createDatabase() : null
  const config = { ...app.config, SQLITE_PATH: `${app.config.SQLITE_PATH}-older`, ...(database && { POSTGRES_URL: database.url }) }
  const options = { ...commonOptions(DB_BACKEND), entities }
  const orm =
    DB_BACKEND === 'sqlite'
      ? new SqliteOrm({ ...options, dbName: config.SQLITE_PATH })
      : new PostgresOrm({ ...options, clientUrl: config.POSTGRES_URL ?? '' })
  await new Migrator(orm.em).up({ to })
  for (const [table, rows] of Object.entries({ packages, package_versions: versions })) {
    for (const row of rows) {
      const names = Object.keys(row).join(', ')
      const marks = Object.keys(row).map(() => '?')
      await orm.em.getConnection().execute(`insert into ${table} (${names}) values (${marks.join(', ')})`, Object.values(row))
    }
  }
  async function close() {
    await orm.close(true)
    await database?.drop()
  }
  return { orm, config, [Symbol.asyncDispose]: close }
}

it('creates the same dependency rows for existing versions as for new ones', async () => {
  await using app = await testApp({ env: { ALLOWED_HOSTED_URLS: 'https://example.com/pub' } })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec })
  await publish(alice, { name: 'acme', version: '1.1.0' })
  await publish(alice, { name: 'acme', version: '1.2.0', pubspec: 'dependencies:\ndev_dependencies: {}\n' })
  const now = await app.services.database.reads.all(stored)
  expect(now).toHaveLength(10)
  await using older = await createOlderDatabase(app)
  const told: string[] = []
  await migrate(older.orm, older.config, (name) => told.push(name))
  expect(await older.orm.em.getConnection().execute(stored)).toEqual(now)
  const names = migrationNames(older.config.DB_BACKEND)
  expect(told).toEqual(
    names.slice(names.indexOf('Migration20261121000003_audit_order') + 1).map((name) => `Upgrading the database: ${name}`),
  )
})

it('queues new analyses of the latest versions in place of percentages of points', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  await publish(alice, { name: 'unscored', version: '1.0.0' })
  await using older = await createOlderDatabase(app, 'Migration20261128000602_trusted_second_factors')
  const database = older.orm.em.getConnection()
  await database.execute(`insert into score_reports (version_id, granted, maximum, percent) select v.id, 9, 10, 90
    from package_versions v join packages p on p.id = v.package_id where p.name = 'acme'`)
  await migrate(older.orm, older.config, () => {})
  expect(await database.execute('select checks_percent from score_reports')).toEqual([{ checks_percent: null }, { checks_percent: null }])
  const jobs = `select v.version, j.kind, j.state, j.payload from jobs j join package_versions v on cast(v.id as varchar) = j.subject`
  expect(await database.execute(jobs)).toEqual([{ version: '1.1.0', kind: 'analysis', state: 'queued', payload: '{}' }])
})
