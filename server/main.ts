import type { FastifyInstance } from 'fastify'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createApp } from './app.ts'
import { warnOfLostPlace } from './operations/backup/owner.ts'
import { warnOfUnreadableSecrets } from './operations/checks/sealed.ts'
import { type Config, ConfigError, describeChanges, describeConfig, processEnvironment, readConfig } from './platform/config/config.ts'
import { lowFileLimit, misspeltVariables, weakSettings } from './platform/config/warnings.ts'
import { explainFull } from './platform/db/location/missing.ts'
import { explainListenError } from './platform/http/connections/listening.ts'
import { endProcess, openLog } from './platform/http/log.ts'
import { trackActivity } from './platform/http/connections/sockets.ts'
import { startMaintenance } from './maintenance.ts'
import { releaseAll } from './platform/jobs/lease.ts'
import { startWorker, type Worker } from './platform/jobs/worker.ts'
import { listenForMetrics } from './operations/metrics/page.ts'
import { openServices } from './open-services.ts'
import { repairDailyTotals } from './operations/stats/samples.ts'
import { completeIndex } from './registry/search/rebuild.ts'
import { sandboxProblem } from './platform/sandbox/run.ts'
import type { Services } from './services.ts'
import { announceSetupCode } from './accounts/setup/service.ts'
import { keepTickClass } from './platform/threads/slices.ts'
import { version } from './platform/config/version.ts'

/** Exit code EX_CONFIG of sysexits.h. */
const badConfiguration = 78

/** Part of the drain timeout reserved for writing pending data after connections are closed, in milliseconds. */
const reserveMs = 1000

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
    warnOfUnreadableSecrets(services).catch(failed),
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
  const timers = startMaintenance(services)
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

async function startWork(services: Services, isInUse: () => boolean): Promise<Worker> {
  const { config, database, now } = services
  // Only one process uses an SQLite file, so the holders of earlier job leases no longer run.
  if (config.DB_BACKEND === 'sqlite') await releaseAll(database.fork(), now())
  return startWorker(services, services.jobHandlers(services), { isInUse, graceMs: Math.min(5000, config.DRAIN_TIMEOUT_MS / 2) })
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

type Running = {
  services: Services
  app: FastifyInstance
  worker: Worker
  /** Functions that stop the periodic maintenance tasks. */
  timers: (() => void)[]
}

/**
 * Shuts the server down gracefully, even if clients, the database or the storage do not respond. The readiness probe reports the shutdown for
 * DRAIN_DELAY_MS; then requests and jobs have DRAIN_TIMEOUT_MS to finish. Requests and jobs that do not finish in time are abandoned and logged.
 */
async function stopServer({ services, app, worker, timers }: Running): Promise<void> {
  const { config, log, stopping } = services
  stopping.abort()
  await wait(config.DRAIN_DELAY_MS)
  for (const stop of timers) stop()
  const deadline = performance.now() + config.DRAIN_TIMEOUT_MS
  const left = () => deadline - performance.now()
  const inTime = async (what: string, work: Promise<unknown>) => {
    const ended = work.then(
      () => true,
      (error: unknown) => (log.error(`stopping: ${what}: ${String(error)}`), true),
    )
    const expired = wait(Math.max(left(), 0), false, { ref: false })
    if (!(await Promise.race([ended, expired]))) log.warning(`stopping: ${what} did not finish in time and was abandoned`)
  }
  const abandoned = await Promise.all([app.drain(Math.max(left() - reserveMs, left() / 2)), inTime('jobs', worker.stop())])
  if (abandoned[0]) log.warning(`stopping: requests that did not finish in time and were aborted: ${abandoned[0]}`)
  await inTime('the analysis', services.analyzer.close())
  await inTime('the server', app.close())
  await Promise.all([inTime('the database', services.database.close()), services.tracing?.close()])
}
