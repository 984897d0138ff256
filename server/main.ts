import type { FastifyInstance } from 'fastify'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createApp } from './app.ts'
import { sealEntries } from './accounts/audit/chain.ts'
import { deleteOldEntries } from './accounts/audit/retention.ts'
import { warnOfLostPlace } from './operations/backup/owner.ts'
import { scheduleBackups } from './operations/backup/schedule/job.ts'
import { type Config, ConfigError, describeChanges, describeConfig, processEnvironment, readConfig } from './platform/config/config.ts'
import { lowFileLimit, misspeltVariables, weakSettings } from './platform/config/warnings.ts'
import { explainFull } from './platform/db/location/missing.ts'
import { collectDocs } from './analysis/docs/store.ts'
import { collectImages } from './registry/images/store.ts'
import { collectMirror } from './registry/mirror/entries.ts'
import { rollDownloads } from './registry/downloads/service.ts'
import { saveDownloads } from './registry/downloads/tally.ts'
import { explainListenError } from './platform/http/connections/listening.ts'
import { openLog } from './platform/http/log.ts'
import { trackActivity } from './platform/http/connections/sockets.ts'
import { deleteOldDecisions, saveDecisions } from './registry/mirror/decisions.ts'
import { recheckFaults } from './registry/packages/listing/faults.ts'
import { jobHandlers } from './job-handlers.ts'
import { releaseAll } from './platform/jobs/lease.ts'
import { collectJobs } from './platform/jobs/queue.ts'
import { runPeriodically, logMove } from './platform/jobs/run-periodically.ts'
import { startWorker, type Worker } from './platform/jobs/worker.ts'
import { listenForMetrics } from './operations/metrics/page.ts'
import { openServices } from './open-services.ts'
import { repairDailyTotals, sampleDay } from './operations/stats/samples.ts'
import { enqueueDomainChecks } from './registry/publishers/domain-check.ts'
import { completeIndex, recountDependents } from './registry/search/rebuild.ts'
import { collectSdks } from './analysis/sdks/installing/install.ts'
import { collectSessions } from './accounts/sessions/service.ts'
import { collectAuthorizations } from './accounts/oauth/service.ts'
import { purgeDeleted } from './registry/restoration/service.ts'
import { collectGarbage } from './registry/uploads/service.ts'
import { sandboxProblem } from './platform/sandbox/run.ts'
import type { Services } from './services.ts'
import { announceSetupCode } from './accounts/setup/service.ts'
import { keepTickClass } from './platform/threads/slices.ts'
import { endProcess, stopServer } from './stop.ts'
import { version } from './platform/config/version.ts'

const collectEveryMs = 10 * 60_000
const sealEveryMs = 60_000
const scheduleEveryMs = 30_000
/** Interval for writing counts of downloads and decisions. At most this period of counts is lost when the process is killed. */
const countEveryMs = 5000

/** Exit code EX_CONFIG of sysexits.h. */
const badConfiguration = 78

const config = configOrExit()
const log = openLog(config.LOG_LEVEL, undefined, config.LOG_FORMAT)
try {
  await serve(config)
} catch (thrown) {
  const error = explainFull(thrown, config)
  const problems = error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : String(error)]
  for (const problem of problems) log.error(problem)
  await log.flush()
  process.exit(error instanceof ConfigError ? badConfiguration : 1)
}

/** Logs problems at startup that would otherwise only appear when the first job or backup runs. */
async function logProblems(services: Services): Promise<void> {
  const failed = (error: unknown) => log.warning(String(error))
  await Promise.all([
    sandboxProblem(services).then((problem) => problem !== null && log.warning(problem), failed),
    warnOfLostPlace(services).catch(failed),
  ])
}

async function serve(config: Config): Promise<void> {
  keepTickClass()
  log.info(`Snug ${version}`)
  for (const line of config.LOG_LEVEL === 'debug' ? describeConfig(config) : describeChanges(config)) log.info(line)
  for (const warning of misspeltVariables(processEnvironment)) log.warning(warning)
  for (const { message } of weakSettings(config)) log.warning(message)
  const fewFiles = lowFileLimit()
  if (fewFiles !== null) log.warning(fewFiles)
  const services = await openServices(config, log)
  const app = await createApp(services)
  await listenForMetrics(services)
  await listen(app, config)
  const timers = [logMove(services), ...startMaintenanceTimers(services)]
  void completeIndex(services).catch((error: unknown) => log.error(`completing the search index: ${String(error)}`))
  void repairDailyTotals(services).catch((error: unknown) => log.error(`comparing daily totals: ${String(error)}`))
  const problems = logProblems(services)
  const worker = await startWork(services, trackActivity(app.server))

  const stop = async (signal: string) => {
    if (services.stopping.signal.aborted) return
    log.info(`${signal}: stopping`)
    await stopServer({ services, app, worker, timers })
    await log.flush()
    endProcess()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop(signal))

  // Must come after the signal handlers are installed: a supervisor that waits for the readiness line may send a signal immediately.
  // A slow check, such as of a bucket, may log its warning later.
  await Promise.race([problems, wait(1000)])
  await announceSetupCode(services)
  log.announce(`Snug is ready: ${config.SERVER_URL}`)
  await log.flush()
  releaseStartupMemory()
}

async function listen(app: FastifyInstance, { HOST: host, LISTEN_PORT: port }: Config): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw explainListenError(error, { host, port, settings: { host: 'HOST', port: 'LISTEN_PORT' } })
  }
}

/** Starts the periodic maintenance tasks. Returns functions that stop them. */
function startMaintenanceTimers(services: Services): (() => void)[] {
  return [
    runPeriodically('collecting leftover uploads and files', collectEveryMs, services, () => collectGarbage(services)),
    runPeriodically('collecting documentation', collectEveryMs, services, () => collectDocs(services)),
    runPeriodically('collecting images', collectEveryMs, services, () => collectImages(services)),
    runPeriodically('collecting files of the mirror', collectEveryMs, services, () => collectMirror(services)),
    runPeriodically('reading damaged archives again', collectEveryMs, services, () => recheckFaults(services)),
    runPeriodically('counting downloads', countEveryMs, services, () => saveDownloads(services)),
    runPeriodically('recording decisions of the mirror', countEveryMs, services, () => saveDecisions(services)),
    runPeriodically('deleting old decisions of the mirror', collectEveryMs, services, () => deleteOldDecisions(services)),
    runPeriodically('removing old downloads from totals', collectEveryMs, services, () => rollDownloads(services)),
    runPeriodically('counting dependents', collectEveryMs, services, () => recountDependents(services)),
    runPeriodically('sealing the audit log', sealEveryMs, services, () => sealEntries(services)),
    runPeriodically('deleting old audit entries', collectEveryMs, services, () => deleteOldEntries(services)),
    runPeriodically('deleting what can no longer be restored', collectEveryMs, services, () => purgeDeleted(services)),
    runPeriodically('storing daily statistics', collectEveryMs, services, () => sampleDay(services)),
    runPeriodically('scheduling backups', scheduleEveryMs, services, () => scheduleBackups(services)),
    runPeriodically('collecting sessions', collectEveryMs, services, () => collectSessions(services)),
    runPeriodically('collecting authorizations', collectEveryMs, services, () => collectAuthorizations(services)),
    runPeriodically('collecting rate limits', collectEveryMs, services, () => services.limits.collect()),
    runPeriodically('looking up verified domains', collectEveryMs, services, () => enqueueDomainChecks(services)),
    runPeriodically('cleaning up SDKs', collectEveryMs, services, () => collectSdks(services)),
    runPeriodically('collecting old jobs', collectEveryMs, services, () => collectJobs(services.database.fork(), services.now())),
  ]
}

async function startWork(services: Services, isInUse: () => boolean): Promise<Worker> {
  const { config, database, now } = services
  // Only one process uses an SQLite file, so the holders of earlier job leases no longer run.
  if (config.DB_BACKEND === 'sqlite') await releaseAll(database.fork(), now())
  return startWorker(services, jobHandlers(services), { isInUse, graceMs: Math.min(5000, config.DRAIN_TIMEOUT_MS / 2) })
}

function configOrExit(): Config {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.problems.join('\n')}\n`)
    return process.exit(badConfiguration)
  }
}

/** Returns memory of the startup, a third of which is garbage, to the operating system. Blocks for 100 ms, so it runs after the first requests. */
function releaseStartupMemory(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc') // the only way to expose `gc` at runtime
    const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
    collect({ type: 'major', flavor: 'last-resort' })
  }, 1000).unref()
}
