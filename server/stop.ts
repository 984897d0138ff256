import type { FastifyInstance } from 'fastify'
import { setTimeout as wait } from 'node:timers/promises'
import type { Worker } from './platform/jobs/worker.ts'
import type { Services } from './services.ts'

type Running = {
  services: Services
  app: FastifyInstance
  worker: Worker
  /** Functions that stop the periodic maintenance tasks. */
  timers: (() => void)[]
}

/** Part of the drain timeout reserved for writing pending data after connections are closed, in milliseconds. */
const reserveMs = 1000

/**
 * Shuts the server down gracefully, even if clients, the database or the storage do not respond. The readiness probe reports the shutdown for
 * DRAIN_DELAY_MS; then requests and jobs have DRAIN_TIMEOUT_MS to finish. Requests and jobs that do not finish in time are abandoned and logged.
 */
export async function stopServer({ services, app, worker, timers }: Running): Promise<void> {
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

/** Exits with code 0. `process.exit` would block while a thread is stuck in a file system call; replacing the process by another program does not. */
export function endProcess(): never {
  const isHeld = process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'))
  if (isHeld) process.execve?.(process.execPath, [process.execPath, '--eval', ''], {})
  process.exit(0)
}
