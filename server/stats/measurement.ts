import type { Services } from '../services.ts'
import { measurePostgres } from './postgres-measure.ts'
import type { Measurement } from './relations.ts'
import { measureSqlite } from './sqlite-measure.ts'

/** A measurement may go on for so long; nobody waits for it longer than `patienceMs`. */
const budgetMs = 20_000
const patienceMs = 4000
/** It is kept for a minute, or so many times as long as it took: measuring takes no more than a thirtieth of the time. */
const keptMs = 60_000
const keptTimes = 30

type Reader = Pick<Services, 'database' | 'config' | 'log' | 'now'>
type Memory = { result: Promise<Measurement>; validUntil: number | null }

const nothing: Measurement = { archiveBytes: null, docsBytes: null, relations: null }
const memories = new WeakMap<Services['database'], Memory>()

/**
 * Sums over the whole database, off the event loop: at most one at a time, kept for a while. Never throws; when it takes too long, the answer
 * is empty this time and the next one finds what was measured meanwhile.
 */
export async function measure(reader: Reader): Promise<Measurement> {
  const { database, now } = reader
  let memory = memories.get(database)
  if (!memory || (memory.validUntil !== null && memory.validUntil <= now().getTime())) {
    memory = { result: begin(reader), validUntil: null }
    memories.set(database, memory)
    void settle(memory, reader, performance.now())
  }
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<Measurement>((resolve) => (timer = setTimeout(() => resolve(nothing), patienceMs)))
  try {
    return await Promise.race([memory.result, tooLong])
  } finally {
    clearTimeout(timer)
  }
}

async function settle(memory: Memory, { now }: Reader, started: number): Promise<void> {
  await memory.result
  Object.assign(memory, { validUntil: now().getTime() + Math.max(keptMs, keptTimes * (performance.now() - started)) })
}

async function begin({ database, config, log }: Reader): Promise<Measurement> {
  try {
    const { pool } = database.reads
    return pool ? await measurePostgres(pool, budgetMs) : await measureSqlite(config.SQLITE_PATH, budgetMs)
  } catch (error) {
    log.warning(`statistics: the database could not be measured: ${String(error)}`)
    return nothing
  }
}
