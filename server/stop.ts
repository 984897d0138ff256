import type { FastifyInstance } from 'fastify'
import { setTimeout as wait } from 'node:timers/promises'
import type { Worker } from './jobs/worker.ts'
import type { Services } from './services.ts'

type Running = {
  services: Services
  app: FastifyInstance
  worker: Worker
  /** Ends what is done at intervals. */
  timers: (() => void)[]
}

/** What of the drain is kept for writing down what is left, after the connections. */
const reserveMs = 1000

/**
 * Ends the server in good order, whatever its clients, its database and its storage do: announces it through the readiness probe for
 * DRAIN_DELAY_MS, then lets requests and jobs end within DRAIN_TIMEOUT_MS. What does not end by then is left, and named in the log.
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
    if (!(await Promise.race([ended, expired]))) log.warning(`stopping: ${what} did not end in time and is left as it is`)
  }
  const abandoned = await Promise.all([app.drain(Math.max(left() - reserveMs, left() / 2)), inTime('jobs', worker.stop())])
  if (abandoned[0]) log.warning(`stopping: requests that did not end in time and were cut off: ${abandoned[0]}`)
  await inTime('the analysis', services.analyzer.close())
  await inTime('the server', app.close())
  await Promise.all([inTime('the database', services.database.close()), services.tracing?.close()])
}

/**
 * Ends the process with code 0. `process.exit` would wait for ever for a thread that the file system keeps, such as one that reads from a
 * storage that hangs; another program in this one's place waits for none.
 */
export function endProcess(): never {
  const isHeld = process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'))
  if (isHeld) process.execve?.(process.execPath, [process.execPath, '--eval', ''], {})
  process.exit(0)
}
