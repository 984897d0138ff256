import { rememberAddress } from './addresses/service.ts'
import { openAnalyzer } from './analysis/analyze.ts'
import { openFilesystemBlobs } from './blobs/filesystem.ts'
import { checkBackupPlace } from './backup/schedule/start-check.ts'
import type { Config } from './config/config.ts'
import { openDatabase } from './db/orm.ts'
import { makeFolder } from './db/private-files.ts'
import { deriveKeys } from './http/keys.ts'
import { openLimits } from './http/limits.ts'
import type { Log } from './http/log.ts'
import { openMetrics } from './metrics/metrics.ts'
import { watchParts } from './metrics/sources.ts'
import { watchStatements } from './metrics/statements.ts'
import { sweepJobFolders } from './sandbox/job-folder.ts'
import { maxConcurrency } from './settings/scoring.ts'
import type { Services } from './services.ts'
import { joinStore, refuseForeignStore, refuseNewFileBesideArchives } from './store/identity.ts'
import { openBlobs } from './store/open.ts'

/**
 * Opens what lives as long as the server. `options` are for tests: a clock, and an ear for every statement.
 * @throws ConfigError when the database and the archive store do not belong together, or backups cannot be made where they should be.
 */
export async function openServices(
  config: Config,
  log: Log,
  options: { now?: () => Date; onQuery?: (sql: string) => void } = {},
): Promise<Services> {
  makeFolder(config.DATA_DIR)
  await checkBackupPlace(config)
  void sweepJobFolders(config).catch((error: unknown) => log.warning(`folders of earlier jobs are left: ${String(error)}`))
  const blobs = await openBlobs(config)
  await refuseNewFileBesideArchives(config, blobs)
  const database = await openOwnDatabase({ config, log, blobs }, options.onQuery)
  const now = options.now ?? database.now
  try {
    await joinStore(database.fork(), blobs, config)
    await rememberAddress({ config, database, now })
  } catch (error) {
    await database.close()
    throw error
  }
  const analyzer = openAnalyzer({ processes: maxConcurrency })
  const metrics = await openMetrics(config)
  if (metrics) watchParts(metrics, { config, database, analyzer, now, log })
  return {
    config,
    database,
    blobs,
    docs: config.DOCS_BACKEND === 'filesystem' ? await openFilesystemBlobs(config.DOCS_PATH) : blobs,
    analyzer,
    keys: deriveKeys(config.JWT_SECRET),
    limits: openLimits(config, now, database.reads.pool),
    log,
    metrics,
    stopping: new AbortController(),
    startedAt: now(),
    now,
  }
}

/** Opens the database unless it is another store's, and upgrades it. */
const openOwnDatabase = ({ config, log, blobs }: Pick<Services, 'config' | 'log' | 'blobs'>, onQuery?: (sql: string) => void) =>
  openDatabase(config, {
    onQuery,
    watch: watchStatements(config, log),
    beforeMigrating: (orm) => refuseForeignStore(orm, blobs, config),
    onMigration: (message) => log.info(message),
  })
