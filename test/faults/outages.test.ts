import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { publishDuringFaults, type Fault } from '../support/fault-run.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { freezableVolume } from '../support/freezable-volume.ts'
import { smallVolume } from '../support/small-volume.ts'

// Outages of the disk, the archive store and the database during publishes lose no acknowledged version,
// leave no partial state, and need no intervention to recover.
const options = { timeout: 3_600_000 }
const usual = { publishes: isFullRun ? 200 : 12, everyMs: 400 }
const outageMs = 700
// Must be less than the free space of the small volume when it is not full.
const env = { MIN_FREE_BYTES: '1000000' }

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

it('resumes publishing after a full disk, EIO errors and a missing archive store, on sqlite', options, async (context) => {
  const registry = await FaultRegistry.open('sqlite', { folder: smallVolume(64_000), env })
  await publishDuringFaults(context, registry, [fullDisk(registry), storeAway(registry), failingDisk(registry)])
})

it('resumes publishing after a full disk and a missing archive store, on postgres', options, async (context) => {
  const registry = await FaultRegistry.open('postgres', { folder: smallVolume(64_000), env })
  await publishDuringFaults(context, registry, [fullDisk(registry), storeAway(registry)])
})

it('resumes publishing after a disk that did not respond, on postgres', options, async (context) => {
  const { folder, freeze, thaw } = await freezableVolume()
  const registry = await FaultRegistry.open('postgres', { folder, env })
  const health = async () => (await registry.readOnce('/api/v1/health')).status
  const strike = async () => {
    freeze()
    await expect.poll(health, { timeout: 30_000 }).toBe(503)
    thaw()
  }
  const recovered = () => expect.poll(health, { timeout: 5000 }).toBe(200)
  await publishDuringFaults(context, registry, [{ ...usual, label: 'frozen', name: 'frozen disk', strike, recovered }])
})

it('resumes publishing after terminated and frozen connections and locked tables, on postgres', options, async (context) => {
  const registry = await FaultRegistry.open('postgres')
  const admin = await administratorOf(registry)
  const tables = ['packages', 'uploads', 'users', 'audit_entries']
  await publishDuringFaults(context, registry, [terminated(admin), frozen(admin), ...tables.map((table) => locked(admin, table))])
})

/** Fills the disk. In the meantime, the health check fails, but the server stays ready for reads. */
function fullDisk(registry: FaultRegistry): Fault {
  const ballast = join(registry.folder, 'ballast')
  const health = async () => (await registry.readOnce('/api/v1/health')).status
  const strike = async () => {
    fill(ballast, registry.folder)
    await expect.poll(health, { timeout: 10_000 }).toBe(503)
    expect((await registry.readOnce('/readyz')).status).toBe(200)
    rmSync(ballast)
  }
  const recovered = () => expect.poll(health, { timeout: 5000 }).toBe(200)
  return { ...usual, label: 'full', name: 'full disk', strike, recovered }
}

function storeAway({ folder }: FaultRegistry): Fault {
  const [present, away] = [join(folder, 'blobs'), join(folder, 'elsewhere')]
  const strike = async () => {
    renameSync(present, away)
    await sleep(outageMs)
    renameSync(away, present)
  }
  return { ...usual, label: 'away', name: 'archive store away', strike }
}

function failingDisk(registry: FaultRegistry): Fault {
  const strike = async () => {
    const tracer = await failWrites(registry.server.process)
    await sleep(outageMs)
    tracer.kill('SIGINT')
    await once(tracer, 'exit')
  }
  return { ...usual, label: 'failing', name: 'EIO at fsync and write', strike }
}

const ownConnections = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

function terminated(admin: pg.Client): Fault {
  const strike = async () => void (await admin.query(`select pg_terminate_backend(pid) ${ownConnections}`))
  return { ...usual, label: 'terminated', name: 'terminated connections', everyMs: 100, strike }
}

function frozen(admin: pg.Client): Fault {
  const strike = async () => {
    const { rows } = await admin.query<{ pid: number }>(`select pid ${ownConnections}`)
    signalAll(rows, 'SIGSTOP')
    await sleep(outageMs)
    signalAll(rows, 'SIGCONT')
  }
  return { ...usual, label: 'frozen', name: 'frozen connections', strike }
}

function locked(admin: pg.Client, table: string): Fault {
  const strike = async () => {
    await admin.query('begin')
    await admin.query(`lock table ${table} in access exclusive mode`)
    await sleep(outageMs)
    await admin.query('rollback')
  }
  return { ...usual, label: `locked_${table}`, name: `locked table ${table}`, publishes: usual.publishes / 2, strike }
}

/** Fills the volume. Ignores ENOSPC, because the server writes to the volume at the same time. */
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
      // The process has ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Makes every write and sync of a process fail with EIO until the returned tracer ends. Requires strace. */
async function failWrites({ pid }: ChildProcess): Promise<ChildProcess> {
  const calls = 'fsync,fdatasync,pwrite64'
  const tracer = spawn('strace', ['-f', '-p', String(pid), '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`])
  const attached = once(tracer.stderr, 'data') // "strace: Process … attached"
  await Promise.race([attached, once(tracer, 'error').then(([error]) => Promise.reject(error as Error))])
  return tracer
}
