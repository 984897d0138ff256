import { isMigrated } from '../../platform/db/schema/schema-state.ts'
import { isRejectedWrite } from '../../platform/db/unavailable.ts'
import type { Services } from '../../services.ts'
import { cachedCheck, watchedCheck } from './cached-check.ts'
import { requireWritable } from './service.ts'
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { rejectOtherMethods } from '../../platform/http/methods.ts'
import { basePath } from '../../platform/http/public-url.ts'

type CheckName = 'running' | 'database' | 'schema'

/** Whether this process can serve reads, and which checks passed. */
type Readiness = { isReady: boolean; checks: Record<CheckName, boolean> }

const timeoutMs = 1500
const keptMs = 2000

/**
 * Returns a readiness check: the process is not stopping, the database answers, its writer is not stuck, and its schema has
 * this version. A full disk or an unavailable archive store is not included, because reads still work.
 */
function openReadiness(services: Services): () => Promise<Readiness> {
  const { log, stopping } = services
  const check = (name: CheckName, work: () => Promise<unknown>) => {
    const texts = { failing: `not ready: ${name}`, passing: `ready again: ${name}` }
    const run = watchedCheck(log, texts, cachedCheck(work, { timeoutMs, keptMs }))
    return async () => (await run(timeoutMs)).status === 'ok'
  }
  const database = check('database', () => checkDatabase(services))
  const schema = check('schema', () => checkSchema(services))
  return async () => {
    const [hasDatabase, hasSchema] = await Promise.all([database(), schema()])
    const checks = { running: !stopping.signal.aborted, database: hasDatabase, schema: hasSchema }
    return { isReady: Object.values(checks).every(Boolean), checks }
  }
}

/** Throws if the database cannot serve reads. It can if it only rejects writes, unless it is outdated after a move. */
async function checkDatabase({ database }: Services): Promise<void> {
  await database.reads.get('select 1 as one')
  await requireWritable(database, timeoutMs).catch((error: unknown) => {
    if (!isRejectedWrite(error)) throw error
  })
}

async function checkSchema({ database, config }: Services): Promise<void> {
  if (!(await isMigrated(database.orm, config))) throw new Error('migrations of this version were not applied')
}

/** Registers the probes for orchestrators: `/livez` reports that the process runs; `/readyz` and `/healthz` that it is ready. */
export function mountProbes(app: FastifyInstance, services: Services): void {
  const readiness = openReadiness(services)
  const sayAlive: RouteHandlerMethod = async (_request, reply) => reply.type(json).send(JSON.stringify({ status: 'ok' }))
  const sayReady: RouteHandlerMethod = async (_request, reply) => {
    const { isReady, checks } = await readiness()
    const states = Object.fromEntries(Object.entries(checks).map(([name, passed]) => [name, { status: passed ? 'ok' : 'error' }]))
    if (!isReady) reply.code(503).header('retry-after', '5')
    return reply.type(json).send(JSON.stringify({ status: isReady ? 'ok' : 'unavailable', checks: states }))
  }
  // Orchestrators query the root path of the process; users query SERVER_URL, which may include a path.
  for (const place of new Set(['', basePath(services.config.SERVER_URL)])) {
    for (const [path, handler] of [
      ['/livez', sayAlive],
      ['/readyz', sayReady],
      ['/healthz', sayReady],
    ] as const) {
      app.get(place + path, handler)
      rejectOtherMethods(app, place + path, ['GET'])
    }
  }
}

const json = 'application/json; charset=utf-8'
