import { isRefusedForMove, unavailable } from '../../platform/db/unavailable.ts'
import type { Services } from '../../services.ts'
import { checkSearch } from '../../registry/search/service.ts'
import { requireFreeSpace, writeAndRead } from '../../platform/store/health.ts'
import { version } from '../../platform/config/version.ts'
import { cachedCheck, type Check, watchedCheck } from './cached-check.ts'

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

export type Watched = Pick<Services, 'config' | 'database' | 'blobs' | 'log' | 'now' | 'state'>

const defaultTimeoutMs = 5000
/** A successful write check is reused for this long, however often clients request the health report. */
const writesKeptMs = 10_000

/**
 * Checks that each component can be read and written, and that MIN_FREE_BYTES are free. Never throws. Messages contain no internal details. A
 * component that does not answer within the timeout (five seconds) has failed. A line is logged when a component starts failing, and when it
 * recovers.
 */
export async function checkHealth(services: Watched, timeoutMs = defaultTimeoutMs): Promise<Health> {
  const { metadata, blob, search } = componentsOf(services)
  const [metadata_store, blob_store, search_index] = await Promise.all([metadata(timeoutMs), blob(timeoutMs), search(timeoutMs)])
  const checks = { metadata_store, blob_store, search_index }
  const status = Object.values(checks).some((check) => check.status === 'error') ? 'degraded' : 'ok'
  return { status, checks, version, timestamp: services.now() }
}

/** Checks the archive store as the health report does. */
export const checkStore = (services: Watched): Promise<Check> => componentsOf(services).blob(defaultTimeoutMs)

const componentsOf = (services: Watched): Components => (services.state.health ??= openComponents(services))

type Components = Record<'metadata' | 'blob' | 'search', (timeoutMs: number) => Promise<Check>>

function openComponents({ config, database, blobs, log, state }: Watched): Components {
  const options = { timeoutMs: defaultTimeoutMs, keptMs: writesKeptMs }
  const rows = cachedCheck(() => requireWritable(database, defaultTimeoutMs), options)
  const bytes = cachedCheck(() => writeAndRead(blobs), options)
  const component = (name: Component, work: () => Promise<unknown>) =>
    watchedCheck(log, { failing: `health: ${name}`, passing: `health: ${name} works again` }, work)
  return {
    metadata: component('metadata_store', async () => {
      await database.reads.get('select 1 as one')
      await requireFreeSpace(config, 'database')
      await rows()
    }),
    blob: component('blob_store', async () => {
      await blobs.check()
      await requireFreeSpace(config, 'archives')
      await bytes()
    }),
    search: component('search_index', () => checkSearch({ database, state })),
  }
}

/** Throws if no row can be written. Rejected writes during a move of the database are expected and not an error. */
export async function requireWritable(database: Services['database'], timeoutMs: number): Promise<void> {
  try {
    await database.probeWrite(timeoutMs)
  } catch (error) {
    if (isRefusedForMove(error) && database.moveState() !== 'moved') return
    const known = unavailable(error)
    throw known ? Object.assign(known, { cause: error }) : error
  }
}
