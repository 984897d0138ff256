import { isRejectedForMove, unavailable } from '../../platform/db/unavailable.ts'
import type { Services } from '../../services.ts'
import { checkSearch } from '../../registry/search/service.ts'
import { requireFreeSpace, writeAndRead, readFreeBytes } from '../../platform/store/health.ts'
import { version } from '../../platform/config/version.ts'
import { cachedCheck, type Check, watchedCheck } from './cached-check.ts'
import { describeConfig } from '../../platform/config/config.ts'
import { weakSettings } from '../../platform/config/warnings.ts'
import type { Context } from '../../platform/access/context.ts'
import { nameOfStore } from '../../platform/store/open.ts'

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
 * Checks that each component can be read and written within the timeout, and that MIN_FREE_BYTES are free. Never throws.
 * Messages contain no internal details. Logs when a component starts failing, and when it recovers.
 */
export async function checkHealth(services: Watched, timeoutMs = defaultTimeoutMs): Promise<Health> {
  const { metadata, blob, search } = componentsOf(services)
  const [metadata_store, blob_store, search_index] = await Promise.all([metadata(timeoutMs), blob(timeoutMs), search(timeoutMs)])
  const checks = { metadata_store, blob_store, search_index }
  const status = Object.values(checks).some((check) => check.status === 'error') ? 'degraded' : 'ok'
  return { status, checks, version, timestamp: services.now() }
}

/** Checks the archive store as the health report does. */
const checkStore = (services: Watched): Promise<Check> => componentsOf(services).blob(defaultTimeoutMs)

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
    if (isRejectedForMove(error) && database.moveState() !== 'moved') return
    const known = unavailable(error)
    throw known ? Object.assign(known, { cause: error }) : error
  }
}

/** Returns the effective configuration with secrets masked, and explanations for values that weaken security. */
export function describeSettings({ config }: Pick<Services, 'config'>) {
  const weak = weakSettings(config)
  return describeConfig(config).map((line) => {
    const end = line.indexOf('=')
    const name = line.slice(0, end)
    return { name, value: line.slice(end + 1), problem: weak.find((setting) => setting.name === name)?.message ?? null }
  })
}

/** Checks the archive store, and how much space is free. */
export async function storageOf(services: Watched) {
  const { config } = services
  const freeBytes = config.BLOB_BACKEND === 'filesystem' ? await readFreeBytes(config.BLOB_PATH).catch(() => null) : null
  const { message } = await checkStore(services)
  return { backend: config.BLOB_BACKEND, path: nameOfStore(config), problem: message ?? null, freeBytes }
}

/** Returns the time of the server and of the database, which determines expirations. */
export async function clocksOf({ database, now }: Pick<Services, 'database' | 'now'>) {
  const sql = database.backend === 'sqlite' ? "select strftime('%s', 'now') * 1000 as moment" : 'select clock_timestamp() as moment'
  const row = await database.reads.get<{ moment: number | Date }>(sql)
  return { server: now(), database: new Date(row?.moment ?? Number.NaN) }
}

/** Returns the request as seen by the server, including proxy headers and whether they are trusted. */
export function requestFacts({ request, ip }: Pick<Context, 'request' | 'ip'>) {
  const header = (name: string) => {
    const value = request.headers[name]
    return (Array.isArray(value) ? value.join(', ') : value)?.slice(0, 500) ?? null
  }
  return {
    clientAddress: ip,
    peerAddress: request.socket.remoteAddress ?? null,
    host: header('host'),
    forwardedFor: header('x-forwarded-for'),
    forwardedProto: header('x-forwarded-proto'),
    isSecure: request.protocol === 'https',
  }
}
