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
  await withServer(async (server) => {
    if (migrate) await makeTemplate(server, migrate)
    await server.query(`CREATE DATABASE ${name} TEMPLATE ${migrate ? template : 'template0'} STRATEGY FILE_COPY`)
  })
  // FORCE: a test that failed may have left connections.
  const drop = () => withServer((server) => server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).then(() => undefined))
  return { url: urlOf(name), drop, [Symbol.asyncDispose]: drop }
}

/** The first caller of the run migrates, the others wait for it. */
async function makeTemplate(server: pg.Client, migrate: (url: string) => Promise<void>) {
  await server.query('SELECT pg_advisory_lock(1)')
  const { rowCount } = await server.query('SELECT FROM pg_database WHERE datname = $1', [template])
  if (rowCount === 0) {
    await server.query('DROP DATABASE IF EXISTS migrating WITH (FORCE)')
    await server.query('CREATE DATABASE migrating TEMPLATE template0')
    await migrate(urlOf('migrating'))
    await server.query(`ALTER DATABASE migrating RENAME TO ${template}`)
  }
  await server.query('SELECT pg_advisory_unlock(1)')
}

async function withServer<T>(use: (server: pg.Client) => Promise<T>): Promise<T> {
  const server = new pg.Client(urlOf('postgres'))
  await server.connect()
  try {
    return await use(server)
  } finally {
    await server.end() // gives back the lock, too
  }
}

function urlOf(database: string) {
  if (!process.env.TEST_POSTGRES) throw new Error('No PostgreSQL was started: this test belongs to a project with postgres-setup.ts.')
  const url = new URL(process.env.TEST_POSTGRES)
  url.pathname = `/${database}`
  return url.href
}
