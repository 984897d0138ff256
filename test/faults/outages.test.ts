import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { endure } from '../support/endure.ts'
import { type Backend, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { smallVolume } from '../support/small-volume.ts'

// Whatever becomes unavailable while packages are published: no acknowledged version is lost, nothing is half there, and all goes on by itself.
const backends: Backend[] = ['sqlite', 'postgres']
const options = { timeout: 900_000 }
const publishes = isFullRun ? 200 : 20
const everyMs = 400
const outageMs = 700

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

it.for(backends)('publishes on when the disk was full, on %s', options, async (database, context) => {
  const registry = await FaultRegistry.open(database, { folder: smallVolume(64_000), env: { MIN_FREE_BYTES: '1000000' } })
  const ballast = join(registry.folder, 'ballast')
  const readiness = async () => (await registry.readOnce('/readyz')).status
  const strike = async () => {
    fill(ballast, registry.folder)
    await expect.poll(readiness, { timeout: 10_000 }).toBe(503)
    rmSync(ballast)
  }
  const recovered = () => expect.poll(readiness, { timeout: 5000 }).toBe(200)
  await endure(context, registry, [{ label: 'published', name: 'full disk, not ready', publishes, everyMs, strike, recovered }])
})

it.for(backends)('publishes on when the archive store was away, on %s', options, async (database, context) => {
  const registry = await FaultRegistry.open(database)
  const [present, away] = [join(registry.folder, 'blobs'), join(registry.folder, 'elsewhere')]
  const strike = async () => {
    renameSync(present, away)
    await sleep(outageMs)
    renameSync(away, present)
  }
  await endure(context, registry, [{ label: 'published', name: 'archive store away', publishes, everyMs, strike }])
})

it('publishes on when the disk failed with EIO, on sqlite', options, async (context) => {
  const registry = await FaultRegistry.open('sqlite')
  const strike = async () => {
    const tracer = await failWrites(registry.server.process)
    await sleep(outageMs)
    tracer.kill('SIGINT')
    await once(tracer, 'exit')
  }
  await endure(context, registry, [{ label: 'published', name: 'EIO at fsync and write', publishes, everyMs, strike }])
})

it('publishes on when its connections were terminated, on postgres', options, async (context) => {
  const registry = await FaultRegistry.open('postgres')
  const admin = await administratorOf(registry)
  const strike = async () => {
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
  }
  await endure(context, registry, [{ label: 'published', name: 'terminated connections', publishes, everyMs: 100, strike }])
})

it('publishes on when its connections were frozen, on postgres', options, async (context) => {
  const registry = await FaultRegistry.open('postgres')
  const admin = await administratorOf(registry)
  const strike = async () => {
    const { rows } = await admin.query<{ pid: number }>(
      'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    signalAll(rows, 'SIGSTOP')
    await sleep(outageMs)
    signalAll(rows, 'SIGCONT')
  }
  await endure(context, registry, [{ label: 'published', name: 'frozen connections', publishes, everyMs, strike }])
})

it.for(['packages', 'uploads', 'users', 'audit_entries'])(
  'publishes on when the table %s was locked, on postgres',
  options,
  async (table, context) => {
    const registry = await FaultRegistry.open('postgres')
    const admin = await administratorOf(registry)
    const strike = async () => {
      await admin.query('begin')
      await admin.query(`lock table ${table} in access exclusive mode`)
      await sleep(outageMs)
      await admin.query('rollback')
    }
    await endure(context, registry, [
      {
        label: 'published',
        name: `locked table ${table}`,
        publishes: isFullRun ? 100 : 10,
        everyMs,
        strike,
      },
    ])
  },
)

/** Writes until nothing fits any more; the server is writing, too. */
function fill(path: string, volume: string): void {
  const { bavail, bsize } = statfsSync(volume)
  try {
    writeFileSync(path, Buffer.alloc(bavail * bsize))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

async function administratorOf(registry: FaultRegistry): Promise<pg.Client> {
  const client = new pg.Client(registry.env.POSTGRES_URL)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

function signalAll(rows: { pid: number }[], signal: NodeJS.Signals): void {
  for (const { pid } of rows) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      // It ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Has every write and sync of a process fail until the tracer ends. Needs strace. */
async function failWrites({ pid }: ChildProcess): Promise<ChildProcess> {
  const calls = 'fsync,fdatasync,pwrite64'
  const tracer = spawn('strace', ['-f', '-p', String(pid), '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`])
  const attached = once(tracer.stderr, 'data') // "strace: Process … attached"
  await Promise.race([attached, once(tracer, 'error').then(([error]) => Promise.reject(error as Error))])
  return tracer
}
