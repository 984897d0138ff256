import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { resetDatabase, captureBaseline, type Baseline } from './database-reset.ts'

/** A database that nobody else uses. */
export interface TestDatabase extends AsyncDisposable {
  url: string
  drop: () => Promise<void>
}

const template = 'migrated'

/**
 * Makes a database on the run's PostgreSQL: an empty one, or with `migrate` one that looks as if migrated. Migrations run
 * once into a template, and `migrate` must leave no connection open; the rest are copies of its files. Most tests take over a copy that another
 * one left behind and that was emptied: so the caches of its catalogs, which the first connections to a copy make, need not be made again.
 */
export async function createDatabase(migrate?: (url: string) => Promise<void>): Promise<TestDatabase> {
  if (migrate) await (templateMade ??= makeTemplate(migrate).catch(forgetTemplate))
  const name = (migrate && free.pop()) ?? (await copy(migrate ? template : 'template0'))
  const drop = async () => void (await (migrate ? giveBack(name) : dropDatabase(name)))
  return { url: urlOf(name), drop, [Symbol.asyncDispose]: drop }
}

const newName = () => `test_${randomUUID().replaceAll('-', '')}`

async function copy(source: string): Promise<string> {
  const name = newName()
  await order(`CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY FILE_COPY`)
  if (source === template) await (untouched ??= inside(name, captureBaseline))
  return name
}

// FORCE: a test that failed may have left connections.
const dropDatabase = (name: string) => order(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)

/** Copies of the template that this process may give to the next test. */
const free: string[] = []
let untouched: Promise<Baseline> | undefined

/** Empties a database for the next test, or drops it. */
async function giveBack(name: string): Promise<void> {
  const next = newName()
  if (await takeOver(name, next).catch(() => false)) free.push(next)
  else await Promise.all([dropDatabase(name), dropDatabase(next)])
}

/**
 * Empties a database under another name, at which nobody looks for it who is left of the test that had it. False when it cannot be handed on,
 * also because the server outlives the run.
 */
async function takeOver(name: string, next: string): Promise<boolean> {
  const before = await untouched
  if (!process.env.TEST_POSTGRES_ENDS || !before || !(await isLeft(name))) return false
  await order(`ALTER DATABASE ${name} RENAME TO ${next}`)
  return inside(next, (client) => resetDatabase(client, before))
}

/** Whether nobody is connected any more: sessions end a moment after their clients. */
async function isLeft(name: string): Promise<boolean> {
  for (const waitMs of [0, 5, 20, 80, 320]) {
    await sleep(waitMs)
    const connected = await order(`SELECT FROM pg_stat_activity WHERE datname = '${name}'`)
    if (connected.rowCount === 0) return true
  }
  return false
}

async function inside<Result>(name: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await connect(name)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

let templateMade: Promise<void> | undefined

function forgetTemplate(error: unknown): never {
  templateMade = undefined
  throw error
}

/** The first caller of the run migrates, the others wait for it. */
async function makeTemplate(migrate: (url: string) => Promise<void>) {
  const server = await connect()
  try {
    await server.query('SELECT pg_advisory_lock(1)')
    const { rowCount } = await server.query('SELECT FROM pg_database WHERE datname = $1', [template])
    if (rowCount !== 0) return
    await server.query('DROP DATABASE IF EXISTS migrating WITH (FORCE)')
    await server.query('CREATE DATABASE migrating TEMPLATE template0')
    await migrate(urlOf('migrating'))
    await server.query(`ALTER DATABASE migrating RENAME TO ${template}`)
  } finally {
    await server.end() // gives back the lock, too
  }
}

/** What this process gives its orders through: to connect takes the server as long as half a database. */
let kept: pg.Client | undefined
let before: Promise<unknown> = Promise.resolve()

/** One after the other, as a connection takes them. */
function order(sql: string): Promise<pg.QueryResult> {
  const done = before.then(() => give(sql))
  before = done.catch(() => undefined)
  return done
}

async function give(sql: string): Promise<pg.QueryResult> {
  kept ??= (await connect()).on('error', () => (kept = undefined))
  return kept.query(sql)
}

async function connect(database = 'postgres'): Promise<pg.Client> {
  const client = new pg.Client(urlOf(database))
  await client.connect()
  return client
}

function urlOf(database: string) {
  if (!process.env.TEST_POSTGRES) throw new Error('No PostgreSQL was started: this test belongs to a project with postgres-setup.ts.')
  const url = new URL(process.env.TEST_POSTGRES)
  url.pathname = `/${database}`
  return url.href
}
