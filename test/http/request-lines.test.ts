import { expect, it } from 'vitest'
import type { PreparedQuery } from '../../server/platform/db/query.ts'
import { DatabaseAway } from '../../server/platform/db/unavailable.ts'
import { storageAway } from '../../server/errors.ts'
import { type TestApp, testApp } from '../app.ts'

/** Returns the lines logged during `work`, without timestamps. */
async function linesLoggedDuring(app: TestApp, work: () => Promise<unknown>): Promise<string[]> {
  app.lines.length = 0
  await work()
  return app.lines.map((line) => line.replace(/^\S+ /, '').trimEnd())
}

const probes = ['/livez', '/readyz', '/healthz', '/api/v1/health']

it.each(['text', 'json'])('omits only successful probes with LOG_PROBES=false (%s)', async (LOG_FORMAT) => {
  await using app = await testApp({ env: { LOG_PROBES: 'false', LOG_FORMAT } })
  const lines = await linesLoggedDuring(app, async () => {
    for (const path of probes) {
      expect(await app.anonymous.get(path)).toMatchObject({ status: 200 })
      expect(await app.anonymous.head(path)).toMatchObject({ status: 200 })
    }
    await app.anonymous.get('/api/v1/version')
    await app.anonymous.post('/livez')
    await app.anonymous.get('/nothing/livez')
    app.services.stopping.abort()
    expect(await app.anonymous.get('/readyz')).toMatchObject({ status: 503 })
  })
  const requests = lines.filter((line) => / (GET|HEAD|POST) |"method":/.test(line))
  expect(requests).toEqual([/version 200/, /livez 405/, /nothing\/livez 404/, /readyz 503/].map((line) => expect.stringMatching(line)))
})

it('logs probes by default', async () => {
  await using app = await testApp()
  const lines = await linesLoggedDuring(app, () => app.anonymous.get('/livez'))
  expect(lines).toEqual([expect.stringMatching(/^INFO GET \/livez 200 \d+ms \S+ \S+$/)])
})

it.each([
  [{ query: 'query Version { health { version } }' }, 'query Version'],
  [{ query: '{ health { version } }' }, 'query'],
  [{ query: 'mutation SignOut { logout }' }, 'mutation SignOut'],
  [{ query: 'query One { health { version } } query Two { health { status } }', operationName: 'Two' }, 'query Two'],
  [{ query: `query ${'x'.repeat(5000)} { health { version } }` }, `query ${'x'.repeat(64)}`],
  [{ query: 'query my_svc_pat_Secret { health { version } }' }, 'query ***'],
  [{ query: 'query Unknown { nothing }' }, 'query Unknown'],
])('logs the operation of a GraphQL request: %#', async (body, operation) => {
  await using app = await testApp()
  const lines = await linesLoggedDuring(app, () => app.anonymous.post('/graphql', body))
  expect(lines.map((line) => line.replace(/^INFO POST \/graphql \d+ \d+ms \S+ \S+ /, ''))).toEqual([operation])
})

it.each([
  { query: 'query A {', operationName: 'A' },
  { query: 'query A { health { version } }', operationName: 'B\n2026-01-01T00:00:00.000Z INFO forged' },
  { query: 'query A\u0000B { health { version } }' },
  { operationName: 'OnlyAName' },
])('logs no operation that the document does not contain: %j', async (body) => {
  await using app = await testApp()
  const lines = await linesLoggedDuring(app, () => app.anonymous.post('/graphql', body))
  expect(lines).toEqual([expect.stringMatching(/^INFO POST \/graphql \d+ \d+ms \S+ \S+$/)])
})

it('logs the operation as a JSON field', async () => {
  await using app = await testApp({ env: { LOG_FORMAT: 'json' } })
  app.lines.length = 0
  await app.anonymous.post('/graphql', { query: 'query Version { health { version } }' })
  expect(app.lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ operation: 'query Version', status: 200 }),
  ])
})

const bucket = () => storageAway(new Error('connect ECONNREFUSED'))
it.each([
  ['an unreachable database', () => new DatabaseAway('PostgreSQL does not answer.'), 'WARNING', 'DatabaseAway|PostgreSQL does not answer'],
  ['an unreachable bucket', bucket, 'ERROR', 'Error: connect ECONNREFUSED'],
])('logs one line for a request refused because of %s', async (_what, error, level, reason) => {
  await using app = await testApp()
  const member = await app.member()
  const { reads } = app.services.database
  const recall = reads.recall.bind(reads) as (query: PreparedQuery<string[], object>, ...given: string[]) => Promise<unknown>
  const isOfPackages = (query: PreparedQuery<string[], object>) => query.statement().sql.includes('from "packages"')
  Object.assign(reads, {
    recall: (...all: Parameters<typeof recall>) => (isOfPackages(all[0]) ? Promise.reject(error()) : recall(...all)),
  })
  const lines = await linesLoggedDuring(app, async () => expect(await member.get('/api/packages/away')).toMatchObject({ status: 503 }))
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^${level} GET /api/packages/away 503 \\d+ms \\S+ \\S+ failed: .*(${reason})`))])
})

it('logs one line for a query whose fields all fail for the same reason', async () => {
  await using app = await testApp()
  const member = await app.member()
  const { database } = app.services
  const fork = database.fork.bind(database)
  const away = () => Promise.reject(new DatabaseAway('PostgreSQL does not answer.'))
  Object.assign(database, { fork: () => Object.assign(fork(), { find: away, findOne: away }) })
  const query = `query Many { ${Array.from({ length: 5 }, (_, index) => `p${index}: package(name: "p${index}") { name }`).join(' ')} }`
  const lines = await linesLoggedDuring(app, () => member.post('/graphql', { query }))
  expect(lines).toEqual([
    expect.stringMatching(/^WARNING POST \/graphql \d+ \d+ms \S+ \S+ query Many failed: .*PostgreSQL does not answer\.$/),
  ])
})
