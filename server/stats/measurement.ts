import { setTimeout as wait } from 'node:timers/promises'
import type { Services } from '../services.ts'
import { measurePostgres, measureWithin } from './postgres-measure.ts'
import type { Measurement, Sizes } from './relations.ts'
import { measureSqlite } from './sqlite-measure.ts'

/** A measurement may go on for so long. */
const budgetMs = 20_000
/** So long after it began, nobody waits for it any more: for the first one, and where there is an earlier one to answer with. */
const patienceMs = 4000
const patienceWithLastMs = 500
/** It is kept for a minute, or so many times as long as it took: measuring takes no more than a thirtieth of the time. */
const keptMs = 60_000
const keptTimes = 30

type Reader = Pick<Services, 'database' | 'config' | 'log' | 'now'>
type Memory = { last: Measurement; validUntil: number; underWay: { result: Promise<Measurement>; began: number } | null }

const nothing: Measurement = { archiveBytes: null, docsBytes: null, relations: null, measuredAt: null }
const memories = new WeakMap<Services['database'], Memory>()

/**
 * Sums over the whole database, off the event loop: at most one at a time, kept for a while. Never throws; while one takes long, the answer is
 * the one before it, or empty when there is none, and a later question finds what was measured meanwhile.
 */
export async function measure(reader: Reader): Promise<Measurement> {
  const memory = memoryOf(reader.database)
  if (memory.validUntil > reader.now().getTime()) return memory.last
  memory.underWay ??= { result: renew(memory, reader), began: performance.now() }
  const { result, began } = memory.underWay
  const patience = (memory.last.measuredAt ? patienceWithLastMs : patienceMs) - (performance.now() - began)
  return patience > 0 ? Promise.race([result, wait(patience, memory.last, { ref: false })]) : memory.last
}

function memoryOf(database: Services['database']): Memory {
  const memory = memories.get(database) ?? { last: nothing, validUntil: 0, underWay: null }
  memories.set(database, memory)
  return memory
}

/** What lacks something does not take the place of what has everything. */
async function renew(memory: Memory, reader: Reader): Promise<Measurement> {
  const began = performance.now()
  const found = await attempt(reader)
  if (isWhole(found) || !isWhole(memory.last)) memory.last = found
  memory.validUntil = reader.now().getTime() + Math.max(keptMs, keptTimes * (performance.now() - began))
  memory.underWay = null
  return memory.last
}

async function attempt({ database, config, log, now }: Reader): Promise<Measurement> {
  const measuredAt = now()
  try {
    const { reads, heavyReads } = database
    const elsewhere = await heavyReads.replica?.attempt((client) => measureWithin(client, budgetMs))
    const sizes =
      elsewhere?.value ?? (await (reads.pool ? measurePostgres(reads.pool, budgetMs) : measureSqlite(config.SQLITE_PATH, budgetMs)))
    return { ...sizes, measuredAt }
  } catch (error) {
    log.warning(`statistics: the database could not be measured: ${String(error)}`)
    return nothing
  }
}

const isWhole = ({ archiveBytes, docsBytes, relations }: Sizes) => archiveBytes !== null && docsBytes !== null && relations !== null
