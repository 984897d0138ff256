import { afterPackageChange } from './after-package-change.ts'
import { rememberAddress } from './addresses/service.ts'
import { openAnalyzer } from './analysis/analyze.ts'
import type { BlobStore } from './blobs/store.ts'
import { sweepScratch } from './backup/place/scratch.ts'
import { checkBackupPlace, makeBackupFolder } from './backup/schedule/start-check.ts'
import type { Config } from './config/config.ts'
import { requireMakeable } from './config/make-folders.ts'
import { placeProblem } from './config/place-problem.ts'
import type { StatementWatch } from './db/meter.ts'
import { openDatabase } from './db/open/orm.ts'
import { makeFolder } from './db/location/private-files.ts'
import { openCaches } from './caches/caches.ts'
import { deriveKeys } from './http/keys.ts'
import { openLimits } from './http/limits/limits.ts'
import type { Log } from './http/log.ts'
import { registerInstance, requireSharedStore } from './instances/register.ts'
import { openMetrics } from './metrics/metrics.ts'
import { watchParts } from './metrics/sources.ts'
import { watchStatements } from './tracing/statements.ts'
import { sweepGates } from './sandbox/gate.ts'
import { makeJobFolder, sweepJobFolders } from './sandbox/job-folder.ts'
import { maxConcurrency } from './settings/scoring.ts'
import type { Services } from './services.ts'
import { joinStore, refuseForeignStore, refuseNewFileBesideArchives } from './store/identity.ts'
import { isStoreUnmade, openBlobs, openDocs } from './store/open.ts'
import { openTracing } from './tracing/open.ts'

type Options = { now?: () => Date; onQuery?: (sql: string) => void }

/**
 * Opens what lives as long as the server. `options` are for tests: a clock, and an ear for every statement.
 * What is refused leaves no folders behind.
 * @throws ConfigError when a folder or the database cannot be used, the database and the archive store do not belong together, a running instance
 * has other settings, or backups cannot be made where they should be.
 */
export async function openServices(config: Config, log: Log, options: Options = {}): Promise<Services> {
  refuseUnmakeable(config)
  await checkBackupPlace(config, log)
  const tracing = await openTracing(config, log)
  const keys = deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS)
  const { database, blobs, docs, now } = await openOwnDatabase({ config, keys, log, tracing }, options)
  const analyzer = openAnalyzer({ processes: maxConcurrency, makeFolder: () => makeJobFolder(config) })
  const metrics = await openMetrics(config)
  if (metrics) watchParts(metrics, { config, database, blobs, analyzer, now, log })
  return {
    config,
    database,
    caches: openCaches(config),
    blobs,
    docs,
    analyzer,
    afterPackageChange,
    keys,
    limits: openLimits(config, now, database.reads.pool),
    log,
    metrics,
    tracing,
    stopping: new AbortController(),
    startedAt: now(),
    now,
  }
}

/** What can be refused is, before a folder is made for the rest. */
function refuseUnmakeable({ DATA_DIR, BLOB_BACKEND, BLOB_PATH, DOCS_BACKEND, DOCS_PATH }: Config): void {
  const folders = {
    DATA_DIR,
    ...(BLOB_BACKEND === 'filesystem' && { BLOB_PATH }),
    ...(DOCS_BACKEND === 'filesystem' && { DOCS_PATH }),
  }
  for (const [setting, path] of Object.entries(folders))
    try {
      requireMakeable(path)
    } catch (error) {
      throw placeProblem(error, setting, path)
    }
}

type Opened = Pick<Services, 'database' | 'blobs' | 'docs' | 'now'>
type Surroundings = Pick<Services, 'config' | 'keys' | 'log' | 'tracing'>

/** Opens the database unless it is another store's, upgrades it, and opens its store; closes the database when something is refused later. */
async function openOwnDatabase({ config, keys, log, tracing }: Surroundings, { now: clock, onQuery }: Options): Promise<Opened> {
  const open = once(async () => traced(tracing, await openBlobs(config), config.BLOB_BACKEND))
  const look = async () => (isStoreUnmade(config) ? null : open())
  await refuseNewFileBesideArchives(config, look)
  const database = await openDatabase(config, {
    onQuery,
    watch: inside(tracing?.statements, watchStatements(config, log)),
    beforeMigrating: async (orm) => refuseForeignStore(orm, await look(), config),
    onMigration: (message) => log.info(message),
    onReplica: (message, isUsed) => (isUsed ? log.info(message) : log.warning(message)),
  })
  tracing?.jobs(database.orm.em)
  try {
    await openDataFolder({ config, log })
    const blobs = await open()
    const docs = config.DOCS_BACKEND === 'filesystem' ? traced(tracing, await openDocs(config, blobs), 'filesystem') : blobs
    const now = clock ?? database.now
    await requireSharedStore(database.fork(), blobs, { config, log })
    await registerInstance(database.fork(), { config, keys, log })
    await joinStore(database.fork(), blobs, config)
    await rememberAddress({ config, database, now })
    return { database, blobs, docs, now }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Makes the folder of the data, without what killed processes left in it, and that of the backups. */
async function openDataFolder({ config, log }: Pick<Services, 'config' | 'log'>): Promise<void> {
  const { DATA_DIR } = config
  try {
    makeFolder(DATA_DIR)
    await sweepScratch(DATA_DIR)
  } catch (error) {
    throw placeProblem(error, 'DATA_DIR', DATA_DIR)
  }
  for (const sweep of [() => sweepJobFolders(config), sweepGates])
    sweep().catch((error: unknown) => log.warning(`Folders of earlier jobs could not be removed: ${String(error)}`))
  await makeBackupFolder(config)
}

/** Does something when it is asked for, and not again. */
function once<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let begun: Promise<Value> | undefined
  return () => (begun ??= work())
}

/** A store whose calls are traced, if a setting asks for that. */
const traced = (tracing: Services['tracing'], store: BlobStore, kept: string): BlobStore => tracing?.blobs(store, kept) ?? store

/** Two that watch statements, one within the other. */
const inside = (outer?: StatementWatch, inner?: StatementWatch): StatementWatch | undefined =>
  outer && inner ? (sql, work) => outer(sql, () => inner(sql, work)) : (outer ?? inner)
