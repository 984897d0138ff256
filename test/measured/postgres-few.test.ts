import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'

/** Starts a PostgreSQL instance whose role `snug` has a connection limit. Returns settings for a server and a superuser client. */
async function startPostgresWithLimit(connections: number) {
  const postgres = await startPostgres()
  const admin = new pg.Client(postgres.url)
  admin.on('error', () => {})
  await admin.connect()
  onTestFinished(async () => {
    await admin.end()
    await postgres.stop()
  })
  await admin.query(`create role snug login password 'snug' connection limit ${connections}`)
  await admin.query('create database snug owner snug')
  const url = new URL(postgres.url)
  Object.assign(url, { username: 'snug', password: 'snug', pathname: '/snug' })
  const env = { DB_BACKEND: 'postgres', POSTGRES_URL: url.href, POSTGRES_POOL_MAX: '5', POSTGRES_READ_POOL_MAX: '5' }
  return { admin, env }
}

type Answer = { status: number; retryAfter: string | null }

async function send({ url }: Server, path: string, authorization: string, body?: object): Promise<Answer> {
  const answer = await fetch(url + path, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization, 'content-type': 'application/json' },
  })
  await answer.arrayBuffer()
  return { status: answer.status, retryAfter: answer.headers.get('retry-after') }
}

const times = <Value>(count: number, make: () => Value): Value[] => Array.from({ length: count }, make)

/** Sends sixty listings and ten changes each over GraphQL and REST concurrently. Returns the responses and the duration of the slowest. */
async function burst(server: Server, authorization: string) {
  const started = performance.now()
  const query = 'mutation { updateProfile(input: { displayName: "Olive" }) { user { id } } }'
  const answers = await Promise.all([
    ...times(60, () => send(server, '/api/packages/acme', authorization)),
    ...times(10, () => send(server, '/graphql', authorization, { query })),
    ...times(10, () => send(server, '/api/auth/keys', authorization, { name: 'burst', scopes: ['read'] })),
  ])
  return { answers, ms: performance.now() - started }
}

it('serves listings and changes with three connections, and answers 503 within two seconds without any', async () => {
  const { admin, env } = await startPostgresWithLimit(3)
  const server = await start(folderForTest(), env)
  const authorization = `Bearer ${await ownersToken(server)}`
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  const allServed = [...times(70, () => 200), ...times(10, () => 201)]
  for (let round = 0; round < 3; round++) {
    const { answers, ms } = await burst(server, authorization)
    expect(answers.map(({ status }) => status)).toEqual(allServed)
    expect(ms).toBeLessThan(5000)
  }

  const isServed = () =>
    expect
      .poll(async () => (await burst(server, authorization)).answers.map(({ status }) => status), { timeout: 10_000 })
      .toEqual(allServed)
  const terminate = `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'snug'`
  // Every pool reconnects after all connections are lost at the same time.
  for (let round = 0; round < 3; round++) {
    await admin.query(terminate)
    await isServed()
  }

  await admin.query('alter role snug connection limit 0')
  await admin.query(terminate)
  for (let round = 0; round < 3; round++) {
    const { answers, ms } = await burst(server, authorization)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    for (const { retryAfter } of answers) expect(Number(retryAfter)).toBeGreaterThan(0)
    expect(ms).toBeLessThan(2000)
  }
  await admin.query('alter role snug connection limit 3')
  await isServed()
  expect((await json(`${server.url}/api/v1/health`)).status).toBe(200)
  expect(server.log()).not.toMatch(/unhandled|uncaught/i)
})

it('refuses to start with fewer than three connections, and names the settings that limit them', async () => {
  const { env } = await startPostgresWithLimit(2)
  const server = await start(folderForTest(), env)
  expect(await server.exit).toBe(78)
  expect(server.log()).toMatch(/at least 3 connections/)
  for (const name of ['POSTGRES_POOL_MAX', 'POSTGRES_READ_POOL_MAX', 'max_connections', 'CONNECTION LIMIT'])
    expect(server.log()).toContain(name)
})
