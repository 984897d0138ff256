import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { resetDatabase, captureBaseline, type Baseline } from './database-reset.ts'

/** Database for one test. */
export interface TestDatabase extends AsyncDisposable {
  url: string
  drop: () => Promise<void>
}

const template = 'migrated'

/**
 * Creates a database on the PostgreSQL server of the run: empty, or with a migrated schema if `migrate` is given. Migrations run once in a template
 * database, and `migrate` must close its connections. Other databases are file copies of the template. Most tests reuse a copy that an earlier test
 * left and that was reset, because the first connections to a new copy must build its catalog caches.
 */
export async function createDatabase(migrate?: (url: string) => Promise<void>): Promise<TestDatabase> {
  if (migrate) await (templateMade ??= createTemplate(migrate).catch(forgetTemplate))
  const name = (migrate && free.pop()) ?? (await copy(migrate ? template : 'template0'))
  const drop = async () => void (await (migrate ? release(name) : dropDatabase(name)))
  return { url: urlOf(name), drop, [Symbol.asyncDispose]: drop }
}

const newName = () => `test_${randomUUID().replaceAll('-', '')}`

async function copy(source: string): Promise<string> {
  const name = newName()
  await runStatement(`CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY FILE_COPY`)
  if (source === template) await (untouched ??= withDatabase(name, captureBaseline))
  return name
}

// FORCE closes connections that a failed test left open.
const dropDatabase = (name: string) => runStatement(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)

/** Names of reset copies that the next tests of this process may use. */
const free: string[] = []
let untouched: Promise<Baseline> | undefined

/** Resets a database for the next test, or drops it. */
async function release(name: string): Promise<void> {
  const next = newName()
  if (await recycle(name, next).catch(() => false)) free.push(next)
  else await Promise.all([dropDatabase(name), dropDatabase(next)])
}

/**
 * Renames and resets a database. The new name prevents access by leftovers of the previous test. Returns false if the database cannot be reused, or
 * if the server outlives the run.
 */
async function recycle(name: string, next: string): Promise<boolean> {
  const before = await untouched
  if (!process.env.TEST_POSTGRES_ENDS || !before || !(await isUnused(name))) return false
  await runStatement(`ALTER DATABASE ${name} RENAME TO ${next}`)
  return withDatabase(next, (client) => resetDatabase(client, before))
}

/** Reports whether all sessions have ended. Sessions end shortly after their clients disconnect. */
async function isUnused(name: string): Promise<boolean> {
  for (const waitMs of [0, 5, 20, 80, 320]) {
    await sleep(waitMs)
    const connected = await runStatement(`SELECT FROM pg_stat_activity WHERE datname = '${name}'`)
    if (connected.rowCount === 0) return true
  }
  return false
}

async function withDatabase<Result>(name: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
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

/** Creates the template. The first process runs the migrations, the others wait for it. */
async function createTemplate(migrate: (url: string) => Promise<void>) {
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
    await server.end() // also releases the lock
  }
}

/** Shared connection for statements. Connecting takes half as long as creating a database. */
let connection: pg.Client | undefined
let lastStatement: Promise<unknown> = Promise.resolve()

/** Runs statements one after the other on the shared connection. */
function runStatement(sql: string): Promise<pg.QueryResult> {
  const done = lastStatement.then(() => execute(sql))
  lastStatement = done.catch(() => undefined)
  return done
}

async function execute(sql: string): Promise<pg.QueryResult> {
  connection ??= (await connect()).on('error', () => (connection = undefined))
  return connection.query(sql)
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
