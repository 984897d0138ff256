import { afterPackageChange } from './after-package-change.ts'
import { afterJobCancelled, jobHandlers } from './job-handlers.ts'
import { rememberAddress } from './operations/identity/addresses.ts'
import { openAnalyzer } from './analysis/report/analyze.ts'
import type { BlobStore } from './platform/blobs/store.ts'
import { sweepScratch } from './operations/backup/place/scratch.ts'
import { checkBackupPlace, makeBackupFolder } from './operations/backup/place/open.ts'
import type { Config } from './platform/config/config.ts'
import { requireCreatable, explainPathError } from './platform/config/paths.ts'
import type { StatementWatch } from './platform/db/meter.ts'
import { openDatabase } from './platform/db/open/orm.ts'
import { makeFolder } from './platform/db/location/files.ts'
import { openCaches } from './platform/caches/caches.ts'
import { deriveKeys } from './platform/http/keys.ts'
import { syncMemberships } from './registry/publishers/mapped-members.ts'
import { openLimits } from './platform/http/limits.ts'
import type { Log } from './platform/http/log.ts'
import { registerInstance, requireSharedStore } from './operations/checks/instances.ts'
import { openMetrics } from './operations/metrics/metrics.ts'
import { watchParts } from './operations/metrics/sources.ts'
import { watchStatements } from './platform/tracing/statements.ts'
import { removeStaleProxies } from './platform/sandbox/proxy.ts'
import { makeJobFolder, sweepJobFolders } from './platform/sandbox/job-folder.ts'
import { maxConcurrency } from './platform/settings/scoring.ts'
import { identifyCiJob } from './registry/trusted-publishing/identify.ts'
import type { Services } from './services.ts'
import { joinStore, rejectForeignStore, rejectNewDatabaseForArchives } from './platform/store/identity.ts'
import { isStoreMissing, openBlobs, openDocs } from './platform/store/open.ts'
import type { Tracing } from './platform/tracing/tracing.ts'

type Options = { now?: () => Date; onQuery?: (sql: string) => void }

/**
 * Opens all services of the server. `options` are for tests: a clock, and a callback for every SQL statement. If a check fails, no folders are left
 * behind.
 * @throws ConfigError if a folder or the database is unusable, the database and the archive store do not belong together, a running instance has
 *   different settings, or the backup location is unusable.
 */
export async function openServices(config: Config, log: Log, options: Options = {}): Promise<Services> {
  requireMakeableFolders(config)
  await checkBackupPlace(config, log)
  const tracing = await openTracing(config, log)
  const keys = deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS)
  const { database, blobs, docs, now } = await openOwnDatabase({ config, keys, log, tracing }, options)
  const analyzer = openAnalyzer({ processes: maxConcurrency, makeFolder: () => makeJobFolder(config) })
  const metrics = await openMetrics(config, log)
  const caches = openCaches(config)
  const state = {}
  if (metrics) watchParts(metrics, { config, database, caches, state, blobs, analyzer, now, log })
  return {
    config,
    database,
    caches,
    state,
    blobs,
    docs,
    analyzer,
    afterPackageChange,
    identifyCiJob,
    syncMemberships,
    jobHandlers,
    afterJobCancelled,
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

/** Throws if any of the configured folders cannot be created. Runs before any folder is created. */
function requireMakeableFolders({ DATA_DIR, BLOB_BACKEND, BLOB_PATH, DOCS_BACKEND, DOCS_PATH }: Config): void {
  const folders = {
    DATA_DIR,
    ...(BLOB_BACKEND === 'filesystem' && { BLOB_PATH }),
    ...(DOCS_BACKEND === 'filesystem' && { DOCS_PATH }),
  }
  for (const [setting, path] of Object.entries(folders))
    try {
      requireCreatable(path)
    } catch (error) {
      throw explainPathError(error, setting, path)
    }
}

type Opened = Pick<Services, 'database' | 'blobs' | 'docs' | 'now'>
type Environment = Pick<Services, 'config' | 'keys' | 'log' | 'tracing'>

/** Opens and migrates the database, unless it belongs to another archive store, and the stores. Closes the database if a later check fails. */
async function openOwnDatabase({ config, keys, log, tracing }: Environment, { now: clock, onQuery }: Options): Promise<Opened> {
  const open = once(async () => traced(tracing, await openBlobs(config), config.BLOB_BACKEND))
  const openExisting = async () => (isStoreMissing(config) ? null : open())
  await rejectNewDatabaseForArchives(config, openExisting)
  const database = await openDatabase(config, {
    onQuery,
    watch: nest(tracing?.statements, watchStatements(config, log)),
    beforeMigrating: async (orm) => rejectForeignStore(orm, await openExisting(), config),
    onMigration: (message) => log.info(message),
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

/** Creates the data folder, removes leftovers of killed processes from it, and creates the backup folder. */
async function openDataFolder({ config, log }: Pick<Services, 'config' | 'log'>): Promise<void> {
  const { DATA_DIR } = config
  try {
    makeFolder(DATA_DIR)
    await sweepScratch(DATA_DIR)
  } catch (error) {
    throw explainPathError(error, 'DATA_DIR', DATA_DIR)
  }
  for (const sweep of [() => sweepJobFolders(config), removeStaleProxies])
    sweep().catch((error: unknown) => log.warning(`Folders of earlier jobs could not be removed: ${String(error)}`))
  await makeBackupFolder(config)
}

/** Returns a function that runs `work` at the first call and returns the same promise from then on. */
function once<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let result: Promise<Value> | undefined
  return () => (result ??= work())
}

/** Wraps a store so that its calls are traced, if tracing is enabled. */
const traced = (tracing: Services['tracing'], store: BlobStore, kept: string): BlobStore => tracing?.blobs(store, kept) ?? store

/** Combines two statement watchers, one nested in the other. */
const nest = (outer?: StatementWatch, inner?: StatementWatch): StatementWatch | undefined =>
  outer && inner ? (sql, work) => outer(sql, () => inner(sql, work)) : (outer ?? inner)

/** Opens tracing. Returns null, without loading the library, if no endpoint is configured. */
async function openTracing(config: Config, log: Log): Promise<Tracing | null> {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = config
  if (config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return null
  const url = own ?? (shared && `${shared.replace(/\/$/, '')}/v1/traces`)
  if (!url) return null
  const { createTracing } = await import('./platform/tracing/tracing.ts')
  return createTracing(url, config, log)
}
