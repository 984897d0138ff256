import { randomUUID } from 'node:crypto'
import pg from 'pg'

/** A database that nobody else uses. */
export interface TestDatabase extends AsyncDisposable {
  url: string
  drop: () => Promise<void>
}

const template = 'migrated'

/**
 * Makes a database on the run's PostgreSQL: an empty one, or with `migrate` one that looks as if migrated. Migrations run
 * once into a template, and `migrate` must leave no connection open; the rest are copies of its files, some 20 ms each.
 */
export async function createDatabase(migrate?: (url: string) => Promise<void>): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  if (migrate) await (templateMade ??= makeTemplate(migrate).catch(forgetTemplate))
  await order(`CREATE DATABASE ${name} TEMPLATE ${migrate ? template : 'template0'} STRATEGY FILE_COPY`)
  // FORCE: a test that failed may have left connections.
  const drop = () => order(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  return { url: urlOf(name), drop, [Symbol.asyncDispose]: drop }
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
function order(sql: string): Promise<void> {
  const done = before.then(() => give(sql))
  before = done.catch(() => undefined)
  return done
}

async function give(sql: string): Promise<void> {
  kept ??= (await connect()).on('error', () => (kept = undefined))
  await kept.query(sql)
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(urlOf('postgres'))
  await client.connect()
  return client
}

function urlOf(database: string) {
  if (!process.env.TEST_POSTGRES) throw new Error('No PostgreSQL was started: this test belongs to a project with postgres-setup.ts.')
  const url = new URL(process.env.TEST_POSTGRES)
  url.pathname = `/${database}`
  return url.href
}
