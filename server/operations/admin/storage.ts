import { audit } from '../../accounts/audit/service.ts'
import { storedAt } from '../../platform/blobs/store.ts'
import { invalidInput, notFound, conflict } from '../../errors.ts'
import { DeletedVersion } from '../../registry/packages/entity.ts'
import { collectArchives, type Collection, describeHeldBack, graceDays, planCollection } from '../../platform/store/collect.ts'
import { adoptStore, storeMismatch, restoringPrefix } from '../../platform/store/identity.ts'
import { nameOfStore, openBlobs, type StoreConfig, openStores } from '../../platform/store/open.ts'
import { type Operation, type Outcome, counted } from './command.ts'
import { byOperator } from './people.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { db } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { rebuildIndex } from '../../registry/search/rebuild.ts'
import { showProgress } from './progress-line.ts'
import { ConfigError, type Config } from '../../platform/config/config.ts'
import { areRemovalsHeld } from '../../platform/store/hold.ts'
import { type MoveProgress, moveBlobs } from '../../platform/store/move.ts'
import { variables } from '../../platform/config/variables.ts'
import { nameOfDatabase } from '../../platform/db/location/missing.ts'
import type { Moved } from '../move/move.ts'
import { createBackup } from '../backup/create.ts'
import { restoreBackup } from '../backup/restore/restore.ts'
import { adminCommand } from '../../platform/config/version.ts'

/** Links the archive store to the database. Throws ConfigError if the store contains an unfinished restore. */
export async function adopt({ em, config }: Operation): Promise<string> {
  const blobs = await openBlobs(config)
  if ((await blobs.identity())?.startsWith(restoringPrefix)) throw storeMismatch('unfinished', config)
  await adoptStore(em, blobs, (inner) => record(inner, `tied the archive store ${nameOfStore(config)} to this database`))
  return `The archive store ${nameOfStore(config)} now belongs to this database. Servers on other databases can no longer use it. Start the server.`
}

/** Removes orphaned archives. `dryRun` only lists them; `confirmed` allows any number. Throws Error before the setup is complete. */
export async function collect({ em, config }: Operation, { dryRun = false, confirmed = false } = {}): Promise<Outcome> {
  const lines: string[] = []
  const blobs = await openBlobs(config)
  const circumstances = { em, blobs, now: () => new Date(), say: (line: string) => void lines.push(line) }
  const done = dryRun ? await planCollection(circumstances) : await collectArchives(circumstances, { confirmed })
  const data = { dryRun, ...done }
  if (dryRun) return { text: describePlan(done), data }
  if (done.heldBack) return { text: describeHeldBack(done.heldBack), data }
  const { removed, purged } = done
  if (removed.length + purged.length > 0) {
    const counts = `${counted(removed.length, 'archives')} removed, ${counted(purged.length, 'archives')} permanently deleted`
    await em.transactional(async (inner) => record(inner, `collected orphaned archives: ${counts}`))
  }
  const summary = `Removed ${removed.length} (can be restored for ${graceDays} days), permanently deleted ${purged.length}.`
  return { text: [...lines, summary].join('\n'), data }
}

/** Restores a removed archive, given by its SHA-256 or by package and version. Throws NotFound if it is unknown or deleted. */
export async function restoreArchive({ em, config }: Operation, name = '', version?: string): Promise<string> {
  const sha256 = version === undefined ? name : await hashOf(em, name, version)
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw invalidInput('Give the SHA-256 of the archive in lower-case hex, or package and version.')
  const blobs = await openBlobs(config)
  if (!(await blobs.restore(sha256))) {
    if (await blobs.has(sha256)) return `The archive ${sha256} is already in the store.`
    throw notFound(`No removed archive ${sha256} found. Removed archives are permanently deleted after ${graceDays} days.`)
  }
  const what = version === undefined ? sha256 : `of ${name} ${version} (${sha256})`
  await em.transactional(async (inner) => record(inner, `put the removed archive ${what} back into the store`))
  const named = await readRow(em, db.selectFrom('package_versions').select('id').where('archive_sha256', '=', sha256).limit(1))
  const rest = named
    ? ''
    : `\nNo version refers to it, so it will be removed again after a day. Copy it from ${pathOf(config, sha256)} if you need it.`
  return `The archive ${sha256} is back in the store.${rest}`
}

/** Writes an audit entry. Called before the store is changed, because that change cannot be rolled back. */
const record = (em: Operation['em'], done: string): void =>
  audit(em, { kind: 'server.settings_updated', actor: null, summary: byOperator(done) })

async function hashOf(em: Operation['em'], name: string, version: string): Promise<string> {
  const published = await readRow(
    em,
    db
      .selectFrom('package_versions as v')
      .innerJoin('packages as p', 'p.id', 'v.package_id')
      .select('v.archive_sha256 as sha256')
      .where('p.name', '=', name)
      .where('v.version', '=', version),
  )
  const sha256 = published?.sha256 ?? (await em.findOne(DeletedVersion, { packageName: name, version }))?.archiveSha256
  if (!sha256) throw notFound(`No archive of ${name} ${version} is known. Give its SHA-256, which the server log contains.`)
  return sha256
}

const pathOf = (config: StoreConfig, sha256: string) => `${nameOfStore(config).replace(/\/$/, '')}/sha256/${storedAt(sha256)}`

function describePlan({ removed, purged, heldBack }: Collection): string {
  return [
    ...removed.map(({ sha256, bytes }) => `would remove ${sha256} (${bytes} bytes)`),
    ...purged.map(({ sha256, bytes }) => `would permanently delete ${sha256} (${bytes} bytes)`),
    `Would remove ${removed.length} and permanently delete ${purged.length}. Nothing was changed.`,
    ...(heldBack ? ['Removing this many requires --confirm.'] : []),
  ].join('\n')
}

/** Rebuilds the search index of all packages while servers may be running. Continues an interrupted run. */
export async function reindex({ em, config }: Operation): Promise<Outcome> {
  const progress = showProgress()
  const report = (done: number, total: number) => progress.update('Indexing', { done, total, unit: 'packages' })
  const indexed = await rebuildIndex({ em, config, now: await sharedClock(em, config) }, report)
  progress.end()
  return { text: `Reindexed ${counted(indexed, 'packages')}.`, data: { indexed } }
}

/**
 * Copies all archives to another kind of store while servers may run. Throws Conflict during a backup and, after copying all
 * others, if archives are missing or damaged at the source.
 */
export async function move({ em, config }: Operation, kind = '', say = sayNow): Promise<string> {
  if (kind !== 's3' && kind !== 'filesystem') throw invalidInput(`Unknown store ${kind}: write s3 or filesystem.`)
  if (!config.S3_BUCKET)
    throw new ConfigError(['S3_BUCKET is not set. Set it and the other S3 settings in addition to those of the server.'])
  // A running backup keeps reading from the old store, but the server must be stopped once everything is copied.
  if (await areRemovalsHeld(em, (await sharedClock(em, config))()))
    throw conflict('A backup of this server is running. Wait until it is complete, then run this again. Nothing was copied.')
  const places = {
    from: { ...config, BLOB_BACKEND: kind === 's3' ? 'filesystem' : 's3' } as const,
    to: { ...config, BLOB_BACKEND: kind } as const,
  }
  const stores = { from: await openBlobs(places.from), to: await openBlobs(places.to) }
  const result = await moveBlobs({ em, ...stores, withDocs: config.DOCS_BACKEND === 'blob' }, everySecond(say))
  const { done, copied, bytes, faults } = result
  const summary = [
    ...faults.map(({ sha256, kind: fault }) => `${fault} in ${nameOfStore(places.from)}: ${sha256}`),
    `${nameOfStore(places.to)} has ${done - faults.length} of ${done} archives, verified: ${copied} were copied now (${bytes} bytes).`,
    next(config.BLOB_BACKEND, kind),
  ].join('\n')
  if (faults.length > 0) throw conflict(summary)
  return summary
}

/** Returns a sentence about the next step after all archives were copied. */
const next = (used: string, kind: string) =>
  used === kind
    ? `The server already uses this store. Nothing else to do; ${used === 's3' ? 'the folder' : 'the bucket'} was not changed.`
    : `Now stop the server, run this command again to copy what was published in the meantime, and start the server with BLOB_BACKEND=${kind}.`

function everySecond(say: (line: string) => void): (progress: MoveProgress) => void {
  let saidAt = Number.NEGATIVE_INFINITY
  return ({ done, total, copied }) => {
    if (performance.now() - saidAt < 1000) return
    saidAt = performance.now()
    say(`${done} of ${total} archives (${Math.floor((done / Math.max(total, 1)) * 100)} %), ${copied} copied`)
  }
}

const sayNow = (line: string) => void process.stderr.write(`${line}\n`)

const titles = { checking: 'Looking for changes in', copying: 'Copying', comparing: 'Comparing', indexing: 'Building the search index' }

/**
 * Moves all data from SQLite to an empty PostgreSQL database. A running server is read-only from then on. Throws InvalidInput
 * for the URL; Conflict or ConfigError if the move is not possible.
 */
export async function moveToPostgres(config: Config, url = config.POSTGRES_URL): Promise<Outcome> {
  const to = destination(config, url)
  // Imported on demand, since the module loads a large part of the server.
  const { moveDatabase } = await import('../move/move.ts')
  const progress = showProgress()
  const moved = await moveDatabase(config, to, ({ step, table, done, total }) => {
    const isIndex = step === 'indexing'
    progress.update(isIndex ? titles[step] : `${titles[step]} ${table}`, { done, total, unit: isIndex ? 'packages' : 'rows' })
  }).finally(() => progress.end())
  const database = nameOfDatabase(to)
  return { text: describeMoved(config, database, moved), data: { database, ...moved } }
}

function destination(config: Config, url: string | undefined): Config {
  if (config.DB_BACKEND !== 'sqlite') throw conflict('The server already uses PostgreSQL. Run this with the settings of the SQLite file.')
  if (url === undefined) throw invalidInput('No target database. Give its URL as an argument or in POSTGRES_URL.')
  const read = variables.POSTGRES_URL.schema.safeParse(url)
  if (!read.success) throw invalidInput(`Invalid database URL: ${read.error.issues[0]?.message}.`)
  return { ...config, DB_BACKEND: 'postgres', POSTGRES_URL: read.data }
}

function describeMoved({ SQLITE_PATH }: Config, name: string, { tables, isContinued }: Moved): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return [
    ...tables.map((table) => `${table.sha256}  ${table.name}: ${counted(table.rows, 'rows')}`),
    `Moved to ${name}${isContinued ? ', continuing the interrupted move' : ''}: ${counted(rows, 'rows')} in ${counted(tables.length, 'tables')}, all verified. The search index is complete.`,
    `${SQLITE_PATH} was not changed and is now read-only: a server that runs on it rejects changes. Restart it with DB_BACKEND=postgres and POSTGRES_URL.`,
  ].join('\n')
}

/** Creates a backup. Throws Conflict if none is possible, or if archives are missing on the server itself. */
export async function backup({ em, config }: Operation, place = ''): Promise<string> {
  const [stores, now] = [await openStores(config), await sharedClock(em, config)]
  const progress = showProgress()
  const { manifest, copied } = await createBackup({ em, config, stores, now }, place, { report: progress.update }).finally(() =>
    progress.end(),
  )
  const { id, tables, blobs } = manifest
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const text = `Backup ${id} ${blobs.lacking.length === 0 ? 'is complete' : 'is incomplete'}: ${counted(rows, 'rows')} in ${counted(tables.length, 'tables')}, ${counted(blobs.count, 'blobs')} (${counted(blobs.bytes, 'bytes')}). Copied now: ${counted(copied, 'blobs')}.`
  if (blobs.lacking.length === 0) return text
  const lines = blobs.lacking.map(({ sha256, problem }) => `${problem}: ${sha256}`)
  throw conflict([text, 'These files are missing or damaged on the server itself and are not in the backup:', ...lines].join('\n'))
}

/**
 * Restores the newest or the given backup into an empty database and store. Throws Conflict if they are not empty, and Error
 * if the backup is corrupt.
 */
export async function restore(config: Config, place = '', id?: string): Promise<Outcome> {
  const progress = showProgress()
  const { manifest, blobs } = await restoreBackup(config, place, id, progress.update).finally(() => progress.end())
  const text = `Restored backup ${manifest.id} of ${manifest.finishedAt}: ${counted(manifest.tables.length, 'tables')}, ${counted(blobs, 'blobs')}. Start the server.`
  const { lacking } = manifest.blobs
  if (lacking.length === 0) return { text, data: { message: text } }
  const message = `${text}\nNot in the backup: ${counted(lacking.length, 'blobs')} that were missing or damaged on the server. To find their versions, run ${adminCommand} check-integrity.`
  return { text: message, data: { message, lacking }, ok: false }
}
