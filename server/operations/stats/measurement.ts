import { setTimeout as wait } from 'node:timers/promises'
import type { Services } from '../../services.ts'
import { measurePostgres } from './postgres-measure.ts'
import type { Measurement, Sizes } from './relations.ts'
import { measureSqlite } from './sqlite-measure.ts'

/** Time limit of a measurement. */
const budgetMs = 20_000
/** How long a caller waits for a measurement: the first one, and later ones, when an earlier result is available. */
const waitMs = 4000
const waitWithLastMs = 500
/**
 * A result is cached for one minute, or for 30 times the duration of the measurement if that is longer. Measuring thus takes at most 1/30 of the
 * time.
 */
const cacheMs = 60_000
const cacheFactor = 30

declare module '../../services.ts' {
  interface State {
    /** Latest measurement of the database. */
    measurement?: Memory
  }
}

type Reader = Pick<Services, 'database' | 'config' | 'log' | 'now' | 'state'>
type Memory = { last: Measurement; validUntil: number; running: { result: Promise<Measurement>; began: number } | null }

const nothing: Measurement = { archiveBytes: null, docsBytes: null, relations: null, measuredAt: null }

/**
 * Returns totals over the whole database, computed outside of the event loop. At most one measurement runs at a time, and results are cached. Never
 * throws. If a measurement takes long, returns the previous result (empty the first time); later calls return the new result.
 */
export async function measure(reader: Reader): Promise<Measurement> {
  const memory = (reader.state.measurement ??= { last: nothing, validUntil: 0, running: null })
  if (memory.validUntil > reader.now().getTime()) return memory.last
  memory.running ??= { result: renew(memory, reader), began: performance.now() }
  const { result, began } = memory.running
  const patience = (memory.last.measuredAt ? waitWithLastMs : waitMs) - (performance.now() - began)
  return patience > 0 ? Promise.race([result, wait(patience, memory.last, { ref: false })]) : memory.last
}

/** Runs a measurement and caches its result. An incomplete result does not replace a complete one. */
async function renew(memory: Memory, reader: Reader): Promise<Measurement> {
  const began = performance.now()
  const found = await attempt(reader)
  if (isWhole(found) || !isWhole(memory.last)) memory.last = found
  memory.validUntil = reader.now().getTime() + Math.max(cacheMs, cacheFactor * (performance.now() - began))
  memory.running = null
  return memory.last
}

async function attempt({ database, config, log, now }: Reader): Promise<Measurement> {
  const measuredAt = now()
  try {
    const { pool } = database.reads
    const sizes = await (pool ? measurePostgres(pool, budgetMs) : measureSqlite(config.SQLITE_PATH, budgetMs))
    return { ...sizes, measuredAt }
  } catch (error) {
    log.warning(`statistics: measuring the database failed: ${String(error)}`)
    return nothing
  }
}

const isWhole = ({ archiveBytes, docsBytes, relations }: Sizes) => archiveBytes !== null && docsBytes !== null && relations !== null
