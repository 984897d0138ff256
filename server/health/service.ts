import { ApiError } from '../errors.ts'
import { checkSearch } from '../search/health.ts'
import type { Services } from '../services.ts'
import { version } from '../version.ts'

export type Check = { status: 'ok' | 'error' | 'initializing'; latencyMs: number; message?: string }
export type Health = {
  status: 'ok' | 'degraded'
  checks: Record<'metadata_store' | 'blob_store' | 'search_index', Check>
  version: string
  timestamp: Date
}

/** Checks whether each component works. Never throws; what failed is named without internal details. */
export async function checkHealth({ database, blobs, log, now }: Services): Promise<Health> {
  const [metadata, blob, search] = await Promise.all([
    timed('metadata_store', log, () => database.reads.get('select 1 as one')),
    timed('blob_store', log, () => blobs.check()),
    timed('search_index', log, () => checkSearch(database)),
  ])
  const checks = { metadata_store: metadata, blob_store: blob, search_index: search }
  const status = Object.values(checks).some((check) => check.status === 'error') ? 'degraded' : 'ok'
  return { status, checks, version, timestamp: now() }
}

/** A component that does not answer within five seconds counts as failed. */
const timeoutMs = 5000

async function timed(name: string, log: Services['log'], check: () => Promise<unknown>): Promise<Check> {
  const started = performance.now()
  const latency = () => Math.round((performance.now() - started) * 10) / 10
  let timer: NodeJS.Timeout | undefined
  try {
    const answer = await Promise.race([
      check(),
      new Promise<never>((_resolve, reject) => (timer = setTimeout(() => reject(new Error('no answer in time')), timeoutMs))),
    ])
    return { status: answer === 'initializing' ? answer : 'ok', latencyMs: latency() }
  } catch (error) {
    log.error(`health: ${name}: ${String(error)}`)
    const message = error instanceof ApiError ? error.message : "The component does not work; the server's log says why."
    return { status: 'error', latencyMs: latency(), message }
  } finally {
    clearTimeout(timer)
  }
}
