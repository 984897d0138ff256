import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'

/** Starts a server on its own PostgreSQL instance, with the owner's token and a package. */
async function startWithOwnPostgres(settings: Record<string, string> = {}, env: Record<string, string> = {}) {
  const postgres = await startPostgres(settings)
  onTestFinished(() => postgres.stop())
  const server = await start(folderForTest(), { DB_BACKEND: 'postgres', POSTGRES_URL: postgres.url, ...env })
  const authorization = `Bearer ${await ownersToken(server)}`
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  return { postgres, server, authorization }
}

async function clientOf(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => void client.end().catch(() => {}))
  return client
}

/** Sends concurrent requests to REST, the pub API, GraphQL and OAuth. Returns the responses and the duration of the slowest. */
async function sendMix({ url }: Server, authorization: string) {
  const started = performance.now()
  const send = async (path: string, body?: object) => {
    const answer = await fetch(url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { authorization, 'content-type': 'application/json' },
    })
    await answer.arrayBuffer()
    return { status: answer.status, retryAfter: answer.headers.get('retry-after') }
  }
  const answers = await Promise.all([
    send('/api/auth/me'),
    send('/api/packages/acme'),
    send('/api/packages/versions/new'),
    send('/api/auth/login', { email: 'olive@example.com', password: 'a fine password' }),
    send('/graphql', { query: '{ viewer { user { id } } }' }),
    send('/graphql', { query: 'mutation { updateProfile(input: { displayName: "Olive" }) { user { id } } }' }),
    send('/oauth/token', {
      grant_type: 'authorization_code',
      code: 'x',
      redirect_uri: 'http://localhost:1/',
      code_verifier: 'v'.repeat(43),
    }),
  ])
  return { answers, ms: performance.now() - started }
}

const expectUnavailable = (answers: { status: number; retryAfter: string | null }[]) => {
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503))
  for (const { retryAfter } of answers) expect(Number(retryAfter)).toBeGreaterThan(0)
}

const waitUntilServing = (server: Server, authorization: string) =>
  expect
    .poll(async () => (await sendMix(server, authorization)).answers.map(({ status }) => status), { timeout: 10_000, interval: 200 })
    .toEqual([200, 200, 200, 200, 200, 200, 400])

it('answers 503 within two seconds while PostgreSQL is frozen or stopped, and recovers without a restart', async () => {
  const { postgres, server, authorization } = await startWithOwnPostgres()
  const ways = [
    { begin: () => postgres.signal('SIGSTOP'), end: () => postgres.signal('SIGCONT') },
    { begin: () => postgres.halt(), end: () => postgres.resume() },
  ]
  await waitUntilServing(server, authorization)
  for (const { begin, end } of ways) {
    begin()
    for (let round = 0; round < 3; round++) {
      const { answers, ms } = await sendMix(server, authorization)
      // PostgreSQL takes a moment to stop, so the first round may still succeed.
      if (round === 0 && answers.some(({ status }) => status !== 503)) continue
      expectUnavailable(answers)
      expect(ms).toBeLessThan(2000)
    }
    expect((await json(`${server.url}/api/v1/health`)).status).toBe(503)
    end()
    await waitUntilServing(server, authorization)
    expect((await json(`${server.url}/api/v1/health`)).status).toBe(200)
  }
  expect(server.log()).not.toMatch(/unhandled|uncaught/i)
})

it('serves sixty concurrent listings and a publish with five connections, and answers 503 when none are available', async () => {
  const { postgres, server, authorization } = await startWithOwnPostgres({ max_connections: '12', superuser_reserved_connections: '0' })
  const others: pg.Client[] = []
  const admin = await clientOf(postgres.url)
  const ours = `select count(*)::int as count from pg_stat_activity where application_name like 'snug%'`
  const terminate = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'snug%' and application_name not like '%watch'`
  await admin.query(terminate)
  while (others.length < 6) others.push(await clientOf(postgres.url))
  const listings = () =>
    Promise.all(
      Array.from({ length: 60 }, () =>
        fetch(`${server.url}/api/packages/acme`, { headers: { authorization } }).then(({ status }) => status),
      ),
    )
  for (let round = 0; round < 3; round++) expect(new Set(await listings())).toEqual(new Set([200]))
  expect((await admin.query(ours)).rows[0].count).toBeLessThanOrEqual(5)
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.1' }))

  await admin.query(terminate)
  const taking = Promise.allSettled(Array.from({ length: 8 }, () => clientOf(postgres.url)))
  await taking
  const { answers, ms } = await sendMix(server, authorization)
  expectUnavailable(answers)
  expect(ms).toBeLessThan(2000)
})

it('answers 503 within two and a half seconds while a table is locked, and other requests in the meantime', async () => {
  const { postgres, server, authorization } = await startWithOwnPostgres()
  await waitUntilServing(server, authorization)
  const other = await clientOf(postgres.url)
  await other.query('begin')
  await other.query('lock table packages in access exclusive mode')
  const timed = async (path: string) => {
    const started = performance.now()
    const { status } = await fetch(server.url + path, { headers: { authorization } })
    return { status, ms: performance.now() - started }
  }
  for (let round = 0; round < 3; round++) {
    const blocked = Promise.all(Array.from({ length: 40 }, () => timed('/api/packages/acme')))
    const free = await Promise.all(Array.from({ length: 5 }, () => timed('/api/auth/me')))
    expect(free.map(({ status }) => status)).toEqual(free.map(() => 200))
    expect(Math.max(...free.map(({ ms }) => ms))).toBeLessThan(2000)
    const answers = await blocked
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503))
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(2500)
  }
  await other.query('rollback')
  await waitUntilServing(server, authorization)
})

it('replaces all connections when fifty of them are terminated during writes', async () => {
  const { postgres, server, authorization } = await startWithOwnPostgres()
  const admin = await clientOf(postgres.url)
  const victim = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'snug%' and application_name not like '%watch' and state <> 'idle' and pid <> pg_backend_pid() limit 1`
  const write = (name: string) => json(`${server.url}/api/auth/keys`, { name, scopes: ['read'] }, { authorization })
  const over = new AbortController()
  let terminated = 0
  const statuses: number[] = []
  const writing = Array.from({ length: 12 }, async () => {
    while (!over.signal.aborted) statuses.push((await write('under fire')).status)
  })
  while (terminated < 50) terminated += (await admin.query(victim)).rowCount ?? 0
  over.abort()
  await Promise.all(writing)
  expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([])
  const started = performance.now()
  const afterwards = await Promise.all(Array.from({ length: 20 }, () => write('afterwards')))
  expect(afterwards.map(({ status }) => status)).toEqual(afterwards.map(() => 201))
  expect(performance.now() - started).toBeLessThan(5000)
  expect((await json(`${server.url}/api/v1/health`)).status).toBe(200)
  const { rows } = await admin.query("select count(*)::int as count from pg_stat_activity where state like 'idle in transaction%'")
  expect(rows[0].count).toBe(0)
})
