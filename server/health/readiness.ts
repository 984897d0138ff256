import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { isMigrated } from '../db/schema/schema-state.ts'
import { isRefusedForMove } from '../db/unavailable.ts'
import { causeOf } from '../errors.ts'
import type { Services } from '../services.ts'

type CheckName = 'running' | 'database' | 'schema' | 'storage' | 'space'

/** Whether this process can serve, and which of its checks says otherwise. */
export type Readiness = { isReady: boolean; checks: Record<CheckName, boolean> }

/** A check that does not end in this time has failed. */
const timeoutMs = 1500
/** How long an outcome holds: however often somebody asks, the disk is written to no more than this. */
const keptMs = 2000

/**
 * Finds out whether this process can serve: a row and some bytes can be written, enough space is free, the schema is this version's, and it is
 * not stopping. What is wrong in detail stands in the log, once for each time that a check begins to fail.
 */
export function openReadiness(services: Services): () => Promise<Readiness> {
  const { database, config, stopping } = services
  const checks = {
    database: steady(services, 'database', () => checkDatabase(database)),
    schema: steady(services, 'schema', () => checkSchema(services)),
    storage: steady(services, 'storage', () => writeAndRead(services)),
    space: steady(services, 'space', () => checkSpace(config)),
  }
  return async () => {
    const [canWrite, isCurrent, canStore, hasSpace] = await Promise.all([
      checks.database(),
      checks.schema(),
      checks.storage(),
      checks.space(),
    ])
    const outcome = { running: !stopping.signal.aborted, database: canWrite, schema: isCurrent, storage: canStore, space: hasSpace }
    return { isReady: Object.values(outcome).every(Boolean), checks: outcome }
  }
}

/** A check that runs once at a time, whose outcome is kept for a while. While one hangs, no other begins. */
function steady({ log }: Pick<Services, 'log'>, name: CheckName, work: () => Promise<void>): () => Promise<boolean> {
  let last = { at: Number.NEGATIVE_INFINITY, passed: true }
  let running: Promise<boolean> | undefined
  let begunAt = 0
  const keep = (passed: boolean, reason?: unknown) => {
    if (!passed && last.passed) log.error(`not ready: ${name}: ${String(causeOf(reason))}`)
    if (passed && !last.passed) log.warning(`ready again: ${name}`)
    last = { at: performance.now(), passed }
    return passed
  }
  const run = async () => {
    begunAt = performance.now()
    try {
      await work()
      return keep(true)
    } catch (error) {
      return keep(false, error)
    } finally {
      running = undefined
    }
  }
  return async () => {
    const now = performance.now()
    if (!running && now - last.at < keptMs) return last.passed
    running ??= run()
    const left = begunAt + timeoutMs - now
    let timer: NodeJS.Timeout | undefined
    const expired = new Promise<boolean>(
      (resolve) => (timer = setTimeout(() => resolve(keep(false, 'no answer in time')), Math.max(left, 0))),
    )
    return Promise.race([running, expired]).finally(() => clearTimeout(timer))
  }
}

/** While it is moved to another kind of database, it goes on answering reads; and nobody else could. */
async function checkDatabase(database: Services['database']): Promise<void> {
  try {
    await database.probeWrite(timeoutMs)
  } catch (error) {
    if (!isRefusedForMove(error) || database.moveState() === 'moved') throw error
  }
}

async function checkSchema({ database, config }: Services): Promise<void> {
  if (!(await isMigrated(database.orm, config))) throw new Error('migrations of this version were not applied')
}

/** Stages some bytes as an upload does, reads them and takes them away. @throws Error when that does not work. */
export async function writeAndRead({ blobs }: Pick<Services, 'blobs'>): Promise<void> {
  const name = `probe-${randomUUID()}`
  try {
    await blobs.stage(name, Readable.from([Buffer.from(name)]), name.length)
    const read = Buffer.concat(await (await blobs.openStaged(name)).toArray())
    if (read.toString() !== name) throw new Error('what was written is not what was read')
  } finally {
    await blobs.discard(name)
  }
}

async function checkSpace({ MIN_FREE_BYTES, ...config }: Services['config']): Promise<void> {
  const folders = [config.BLOB_BACKEND === 'filesystem' && config.BLOB_PATH, config.DB_BACKEND === 'sqlite' && dirname(config.SQLITE_PATH)]
  for (const path of folders.filter((folder) => folder !== false)) {
    const { bavail, bsize } = await statfs(path)
    if (bavail * bsize < MIN_FREE_BYTES) throw new Error(`${bavail * bsize} bytes are free at ${path}, fewer than MIN_FREE_BYTES`)
  }
}
