import { rememberAddress } from './addresses/service.ts'
import { openAnalyzer } from './analysis/analyze.ts'
import type { BlobStore } from './blobs/store.ts'
import { sweepScratch } from './backup/place/scratch.ts'
import { checkBackupPlace } from './backup/schedule/start-check.ts'
import type { Config } from './config/config.ts'
import { placeProblem } from './config/place-problem.ts'
import type { StatementWatch } from './db/meter.ts'
import { type Database, openDatabase } from './db/open/orm.ts'
import { makeFolder } from './db/location/private-files.ts'
import { deriveKeys } from './http/keys.ts'
import { openLimits } from './http/limits/limits.ts'
import type { Log } from './http/log.ts'
import { openMetrics } from './metrics/metrics.ts'
import { watchParts } from './metrics/sources.ts'
import { watchStatements } from './metrics/statements.ts'
import { sweepJobFolders } from './sandbox/job-folder.ts'
import { maxConcurrency } from './settings/scoring.ts'
import type { Services } from './services.ts'
import { joinStore, refuseForeignStore, refuseNewFileBesideArchives } from './store/identity.ts'
import { openBlobs, openDocs } from './store/open.ts'
import { openTracing } from './tracing/open.ts'

/**
 * Opens what lives as long as the server. `options` are for tests: a clock, and an ear for every statement.
 * @throws ConfigError when a folder or the database cannot be used, the database and the archive store do not belong together, or backups cannot
 * be made where they should be.
 */
export async function openServices(
  config: Config,
  log: Log,
  options: { now?: () => Date; onQuery?: (sql: string) => void } = {},
): Promise<Services> {
  await openDataFolder(config)
  await checkBackupPlace(config, log)
  void sweepJobFolders(config).catch((error: unknown) => log.warning(`folders of earlier jobs are left: ${String(error)}`))
  const tracing = await openTracing(config, log)
  const blobs = traced(tracing, await openBlobs(config), config.BLOB_BACKEND)
  const docs = config.DOCS_BACKEND === 'filesystem' ? traced(tracing, await openDocs(config, blobs), 'filesystem') : blobs
  await refuseNewFileBesideArchives(config, blobs)
  const database = await openOwnDatabase({ config, log, blobs, tracing }, options.onQuery)
  const now = options.now ?? database.now
  await tieTogether({ config, database, blobs, now })
  const analyzer = openAnalyzer({ processes: maxConcurrency })
  const metrics = await openMetrics(config)
  if (metrics) watchParts(metrics, { config, database, analyzer, now, log })
  return {
    config,
    database,
    blobs,
    docs,
    analyzer,
    keys: deriveKeys(config.JWT_SECRET),
    limits: openLimits(config, now, database.reads.pool),
    log,
    metrics,
    tracing,
    stopping: new AbortController(),
    startedAt: now(),
    now,
  }
}

/** Makes the folder of the data, without what killed processes left in it. */
async function openDataFolder({ DATA_DIR }: Config): Promise<void> {
  try {
    makeFolder(DATA_DIR)
    await sweepScratch(DATA_DIR)
  } catch (error) {
    throw placeProblem(error, 'DATA_DIR', DATA_DIR)
  }
}

/** A store whose calls are traced, if a setting asks for that. */
const traced = (tracing: Services['tracing'], store: BlobStore, kept: string): BlobStore => tracing?.blobs(store, kept) ?? store

/** Has the database and the store know each other, and the address; closes the database when that is refused. */
async function tieTogether({ config, database, blobs, now }: Pick<Services, 'config' | 'database' | 'blobs' | 'now'>): Promise<void> {
  try {
    await joinStore(database.fork(), blobs, config)
    await rememberAddress({ config, database, now })
  } catch (error) {
    await database.close()
    throw error
  }
}

type OwnDatabase = Pick<Services, 'config' | 'log' | 'blobs' | 'tracing'>

/** Opens the database unless it is another store's, and upgrades it. */
async function openOwnDatabase({ config, log, blobs, tracing }: OwnDatabase, onQuery?: (sql: string) => void): Promise<Database> {
  const database = await openDatabase(config, {
    onQuery,
    watch: inside(tracing?.statements, watchStatements(config, log)),
    beforeMigrating: (orm) => refuseForeignStore(orm, blobs, config),
    onMigration: (message) => log.info(message),
    onReplica: (message, isUsed) => (isUsed ? log.info(message) : log.warning(message)),
  })
  tracing?.jobs(database.orm.em)
  return database
}

/** Two that watch statements, one within the other. */
const inside = (outer?: StatementWatch, inner?: StatementWatch): StatementWatch | undefined =>
  outer && inner ? (sql, work) => outer(sql, () => inner(sql, work)) : (outer ?? inner)
