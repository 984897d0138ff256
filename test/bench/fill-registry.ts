import { readConfig } from '../../server/platform/config/config.ts'
import type { Database } from '../../server/platform/db/open/orm.ts'
import { openLog } from '../../server/platform/http/log.ts'
import { openServices } from '../../server/open-services.ts'
import { copyPackages, model, popular, withoutIndexes } from './copy-index.ts'
import { fillActivity } from './fill-activity.ts'
import { addAdministration } from './fill-administration.ts'
import { fillIndex } from './fill-index.ts'

const perStatement = 500
/** Number of packages with unique texts on PostgreSQL. The others are copies (see copyPackages). */
const generated = 5_000

/**
 * Fills the database of a stopped server with packages. Each package has its own texts in the search index, and copies of the model package's
 * versions: pubspecs with the package's name, dependencies, archive hashes, and the README of the latest version.
 */
export async function fillRegistry(env: Record<string, string>, packages: number, versions: number): Promise<void> {
  const longTimeouts = { DB_STATEMENT_TIMEOUT_MS: '600000', DB_IDLE_TRANSACTION_TIMEOUT_MS: '600000' }
  const url = env.POSTGRES_URL ?? ''
  const { database } = await openServices(readConfig({ ...env, ...longTimeouts }), openLog('error'))
  try {
    if (database.backend === 'sqlite') {
      await fillIndex(database, packages - 1)
      await addAllVersions(database, versions)
    } else {
      await fillIndex(database, Math.min(packages, generated) - 1)
      await copyPackages(database, url, packages)
      await withoutIndexes(url, ['package_versions', 'package_dependencies'], () => addAllVersions(database, versions))
    }
    await addAdministration(await fillActivity(database))
    if (database.backend === 'postgres') await withoutIndexes(url, [], async () => {})
  } finally {
    await database.close()
  }
}

async function addAllVersions(database: Database, versions: number): Promise<void> {
  const [from] = await ids(database, 'select id from packages where name = ?', [model])
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const next = `select id from packages where id > ? and name not in (?, '${popular}') order by id limit ${perStatement}`
    const chunk = await ids(database, next, [after, model])
    const last = chunk.at(-1)
    if (last === undefined || from === undefined) return
    await addVersions(database, from, { first: chunk[0] ?? last, last, latest: `1.0.${versions - 1}` })
    after = last
  }
}

const ids = async (database: Database, sql: string, parameters: string[]) =>
  (await database.fork().execute<{ id: string }[]>(sql, parameters)).map(({ id }) => id)

/** Copies the versions of the model to the packages in an id range. */
async function addVersions(
  database: Database,
  from: string,
  { first, last, latest }: { first: string; last: string; latest: string },
): Promise<void> {
  const isSqlite = database.backend === 'sqlite'
  const [text, id, random] = isSqlite
    ? ['p.id', '', "printf('%012x', random() & 0xffffffffffff)"]
    : ['p.id::text', '::uuid', "lpad(to_hex((random() * 281474976710655)::bigint), 12, '0')"]
  const chunk = `p.id between ? and ? and p.id <> ? and p.name <> '${popular}'`
  const ofModel = `v.package_id = p.id join package_versions m on m.package_id = ? and m.version = v.version`
  const range = [first, last, from]
  await database.fork().transactional(async (em) => {
    await em.execute(
      `insert into package_versions (id, created_at, package_id, version, sort_key, is_prerelease, published_by_id, archive_sha256, archive_bytes,
         archive_crc32c, pubspec, license)
       select (substr(${text}, 1, 24) || ${random})${id}, m.created_at, p.id, m.version, m.sort_key, m.is_prerelease, m.published_by_id,
         m.archive_sha256, m.archive_bytes, m.archive_crc32c, replace(m.pubspec, '"${model}"', '"' || p.name || '"'), m.license
       from packages p, package_versions m where m.package_id = ? and ${chunk}`,
      [from, ...range],
    )
    await em.execute(
      `insert into package_dependencies (version_id, kind, name, "constraint", hosted_url, sdk)
       select v.id, d.kind, d.name, d."constraint", d.hosted_url, d.sdk
       from packages p join package_versions v on ${ofModel} join package_dependencies d on d.version_id = m.id where ${chunk}`,
      [from, ...range],
    )
    await em.execute(
      `insert into version_documents (version_id, kind, path, content)
       select v.id, d.kind, d.path, d.content
       from packages p join package_versions v on ${ofModel} join version_documents d on d.version_id = m.id
       where ${chunk} and v.version = '${latest}'`,
      [from, ...range],
    )
    await em.execute(
      `insert into package_uploaders (package_id, user_id)
       select p.id, u.user_id from packages p, package_uploaders u where u.package_id = ? and ${chunk}`,
      [from, ...range],
    )
    await em.execute(`update packages as p set latest_version = '${latest}' where ${chunk.replaceAll('p.', '')}`, range)
  })
}
