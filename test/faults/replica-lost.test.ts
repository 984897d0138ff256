import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { sample } from '../support/metrics.ts'
import { databaseOnBoth, runSql, type Replicated, startReplicated } from '../support/replicated-postgres.ts'
import { folderForTest, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'

const metricsToken = 'the token of the metrics'
/** What the replica may answer. */
const reads = ['/api/search?q=acme', '/feed.atom', '/api/package-names', '/api/packages/acme']

/** A replica that froze is noticed sooner. */
const longestMs = 4500

/** Two servers on a database with a replica, and somebody's token. */
async function twoServers() {
  const both = await startReplicated()
  onTestFinished(() => both.stop())
  const folder = folderForTest()
  const env = { ...(await databaseOnBoth(both)), METRICS_TOKEN: metricsToken }
  const first = await start(folder, env)
  const authorization = `Bearer ${await ownersToken(first)}`
  const second = await start(folder, { ...env, SERVER_URL: first.url })
  const servers = [first, second]
  await publishTo(first, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  return { both, servers, authorization }
}

async function ask(server: Server, authorization: string, path: string): Promise<string> {
  const answer = await fetch(server.url + path, { headers: { authorization } }).catch((error: unknown) => String(error))
  if (typeof answer === 'string') return answer
  const text = await answer.text()
  return answer.status === 200 && text.includes('acme') ? 'fine' : `${answer.status} ${text}`
}

const readByReplica = async ({ url }: Server): Promise<number> => {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
  return sample(await answer.text(), 'snug_replica_reads_total', { result: 'replica' }) ?? 0
}

/** Resolves once the replica was seen at work on a read of each of these servers that began by now. They are read from meanwhile. */
async function areServedBy({ standby }: Replicated, servers: Server[]): Promise<void> {
  const since = new Date().toISOString()
  const atWork = `select application_name as name from pg_stat_activity
    where application_name like 'snug ________' and query like '%package%' and query_start > '${since}'`
  const seen = new Set<string>()
  const look = async () => {
    for (const { name } of await runSql<{ name: string }>(standby.url, atWork)) seen.add(name)
    return seen.size
  }
  await expect.poll(look, { timeout: 20_000, interval: 50 }).toBe(servers.length)
}

/** Readers of all servers, until they are ended; gives what they were told that is not fine, and how long the slowest answer took. */
function readOn(servers: Server[], authorization: string) {
  const [failures, times]: [string[], number[]] = [[], []]
  const over = new AbortController()
  const read = async (server: Server, path: string) => {
    while (!over.signal.aborted) {
      const started = performance.now()
      const told = await ask(server, authorization, path)
      times.push(performance.now() - started)
      if (told !== 'fine') failures.push(told)
      await sleep(5)
    }
  }
  const all = Promise.all(servers.flatMap((server) => reads.map((path) => read(server, path))))
  return {
    end: async () => {
      over.abort()
      await all
      return { failures, count: times.length, slowestMs: Math.max(...times) }
    },
  }
}

it('fails no request when the replica is ended, killed or frozen under load, and uses it again', { timeout: 600_000 }, async () => {
  const { both, servers, authorization } = await twoServers()
  const { standby } = both
  const [first] = servers
  const ways = [
    { begin: () => standby.halt(), end: () => standby.resume() },
    { begin: () => standby.signal('SIGKILL'), end: () => standby.resume() },
    { begin: () => standby.signal('SIGSTOP'), end: () => standby.signal('SIGCONT') },
  ]
  for (const [index, { begin, end }] of ways.entries()) {
    const reading = readOn(servers, authorization)
    await areServedBy(both, servers)
    await sleep(500)
    begin()
    await sleep(3000)
    if (first) await publishTo(first, authorization, await packageArchive({ name: 'acme', version: `1.1.${index}` }))
    end()
    await areServedBy(both, servers)
    const { failures, count, slowestMs } = await reading.end()
    expect(failures).toEqual([])
    expect(count).toBeGreaterThan(100)
    expect(slowestMs).toBeLessThan(longestMs)
  }
  for (const server of servers) {
    const { log } = server
    expect(await readByReplica(server)).toBeGreaterThan(0)
    expect(log()).toMatch(/is not used: .*\. The primary serves all reads\./)
    expect(log()).toContain('serves expensive reads again')
    const told = log().match(/^.*(?:is not used|serves expensive reads).*$/gm)
    expect(told?.filter((line) => line.includes('is not used')).length, told?.join('\n')).toBeLessThanOrEqual(ways.length)
  }
})

it('leaves a replica alone that became a primary of its own', async () => {
  const { both, servers, authorization } = await twoServers()
  const reading = readOn(servers, authorization)
  await areServedBy(both, servers)
  await runSql(both.standby.url, 'select pg_promote()')
  const [first] = servers
  if (first) await publishTo(first, authorization, await packageArchive({ name: 'acme', version: '2.0.0' }))
  for (const { url } of servers) {
    const listing = await (await fetch(`${url}/api/packages/acme`, { headers: { authorization } })).json()
    expect(listing.latest.version).toBe('2.0.0')
  }
  await expect.poll(() => servers.map(({ log }) => log().includes('it is not a replica: it is writable'))).toEqual([true, true])
  expect((await reading.end()).failures).toEqual([])
})

it('starts without the replica, and finds it when it is there', async () => {
  const both = await startReplicated()
  onTestFinished(() => both.stop())
  const settings = await databaseOnBoth(both)
  both.standby.halt()
  const server = await start(folderForTest(), { ...settings, METRICS_TOKEN: metricsToken })
  const authorization = `Bearer ${await ownersToken(server)}`
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  for (const path of reads) expect(await ask(server, authorization, path)).toBe('fine')
  both.standby.resume()
  const reading = readOn([server], authorization)
  await areServedBy(both, [server])
  expect((await reading.end()).failures).toEqual([])
  expect(await readByReplica(server)).toBeGreaterThan(0)
})
