import { isRefusedForMove, unavailable } from '../../platform/db/unavailable.ts'
import { ApiError } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { checkSearch } from '../../registry/search/health.ts'
import { requireFreeSpace } from '../../platform/store/free-space.ts'
import { writeAndRead } from '../../platform/store/write-and-read.ts'
import { version } from '../../platform/config/version.ts'
import { inTime, logChanges, cachedCheck, type CachedCheck } from './cached-check.ts'

export type Check = { status: 'ok' | 'error' | 'initializing'; latencyMs: number; message?: string }
type Component = 'metadata_store' | 'blob_store' | 'search_index'
export type Health = {
  status: 'ok' | 'degraded'
  checks: Record<Component, Check>
  version: string
  timestamp: Date
}

declare module '../../services.ts' {
  interface State {
    /** Health checks, which cache results between reports. */
    health?: Components
  }
}

type Watched = Pick<Services, 'config' | 'database' | 'blobs' | 'log' | 'now' | 'state'>

const defaultTimeoutMs = 5000
/** A successful write check is reused for this long, however often clients request the health report. */
const writesKeptMs = 10_000

/**
 * Checks that each component can be read and written, and that MIN_FREE_BYTES are free. Never throws. Messages contain no internal details. A
 * component that does not answer within the timeout (five seconds) has failed. A line is logged when a component starts failing, and when it
 * recovers.
 */
export async function checkHealth(services: Watched, timeoutMs = defaultTimeoutMs): Promise<Health> {
  const { metadata, blob, search } = (services.state.health ??= openComponents(services))
  const [metadata_store, blob_store, search_index] = await Promise.all([metadata(timeoutMs), blob(timeoutMs), search(timeoutMs)])
  const checks = { metadata_store, blob_store, search_index }
  const status = Object.values(checks).some((check) => check.status === 'error') ? 'degraded' : 'ok'
  return { status, checks, version, timestamp: services.now() }
}

type Examine = (timeoutMs: number) => Promise<Check>
type Components = Record<'metadata' | 'blob' | 'search', Examine>

function openComponents({ config, database, blobs, log, state }: Watched): Components {
  const options = { timeoutMs: defaultTimeoutMs, keptMs: writesKeptMs }
  const rows = cachedCheck(() => writeRow(database), options)
  const bytes = cachedCheck(() => writeAndRead(blobs), options)
  const component = (name: Component, work: () => Promise<unknown>): Examine => {
    const note = logChanges(log, { failing: `health: ${name}`, passing: `health: ${name} works again` })
    return (timeoutMs) => examine(work, timeoutMs, note)
  }
  return {
    metadata: component('metadata_store', async () => {
      await database.reads.get('select 1 as one')
      await requireFreeSpace(config, 'database')
      await pass(rows)
    }),
    blob: component('blob_store', async () => {
      await blobs.check()
      await requireFreeSpace(config, 'archives')
      await pass(bytes)
    }),
    search: component('search_index', () => checkSearch({ database, state })),
  }
}

async function pass(check: CachedCheck): Promise<void> {
  const failure = await check()
  if (failure) throw failure
}

/** Checks that a row can be written. Rejected writes during a move of the database are expected and not an error. */
async function writeRow(database: Services['database']): Promise<void> {
  try {
    await database.probeWrite(defaultTimeoutMs)
  } catch (error) {
    if (isRefusedForMove(error) && database.moveState() !== 'moved') return
    const known = unavailable(error)
    throw known ? Object.assign(known, { cause: error }) : error
  }
}

async function examine(work: () => Promise<unknown>, timeoutMs: number, note: (failure: unknown) => void): Promise<Check> {
  const started = performance.now()
  const latency = () => Math.round((performance.now() - started) * 10) / 10
  try {
    const answer = await inTime(work(), timeoutMs)
    note(null)
    return { status: answer === 'initializing' ? answer : 'ok', latencyMs: latency() }
  } catch (error) {
    note(error)
    const message = error instanceof ApiError ? error.message : 'The component does not work. See the log of the server for the cause.'
    return { status: 'error', latencyMs: latency(), message }
  }
}
