import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { recordFault, sum } from '../support/fault-run.ts'
import { auditPublished, auditLeftovers } from '../support/fault-audit.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { freePort } from '../support/free-port.ts'
import { json, type Server, start } from '../support/server-process.ts'

/** Environment of a process whose clock is off by a number of hours: shifts `Date.now()` and `new Date()`. */
const clockOff = (hours: number) => {
  const script = `const real = Date.now; const off = ${hours * 3_600_000}; Date.now = () => real() + off;
    globalThis.Date = new Proxy(Date, { construct: (of, args, as) => Reflect.construct(of, args.length ? args : [real() + off], as) })`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

const rounds = isFullRun ? 300 : 20

it('uses the time of the database on instances whose clocks are hours apart', { timeout: 900_000 }, async (context) => {
  const registry = await FaultRegistry.open('postgres')
  const authorization = `Bearer ${registry.token}`
  const startInstance = async (hours: number) =>
    start(registry.folder, { ...registry.env, LISTEN_PORT: String(await freePort()), ...clockOff(hours) })
  const right = registry.server
  const servers = [right, ...(await Promise.all([1, -1].map(startInstance)))]
  const ask = async ({ url }: Server, query: string) => (await json(`${url}/graphql`, { query }, { authorization })).body.data
  const timeOf = async ({ url }: Server) => Date.parse((await json(`${url}/api/v1/health`)).body.timestamp)
  for (const server of servers) expect(Math.abs((await timeOf(server)) - Date.now())).toBeLessThan(5000)

  // Each upload starts on one instance, sends its archive to another and finishes on the third.
  let slowest = 0
  for (let round = 0; round < rounds; round++) {
    const [announcing, receiving] = [servers[round % 3], servers[(round + 1) % 3]] as [Server, Server]
    const begunAt = Date.now()
    const { status, body } = await json(`${announcing.url}/api/packages/versions/new`, undefined, { authorization })
    expect(status).toBe(200)
    const archive = await packageArchive({ name: 'shared_0', version: `1.0.${round}` })
    const address = `${receiving.url}${new URL(body.url).pathname}?upload_id=${body.fields.upload_id}`
    const headers = { authorization, 'content-type': 'application/octet-stream' }
    const sent = await fetch(address, { method: 'POST', body: new Uint8Array(archive), headers, redirect: 'manual' })
    expect(sent.status).toBe(302)
    const finish = new URL(sent.headers.get('location') ?? '')
    expect((await fetch(servers[(round + 2) % 3]?.url + finish.pathname + finish.search, { headers: { authorization } })).status).toBe(200)
    registry.acknowledged.set(`shared_0 1.0.${round}`, createHash('sha256').update(archive).digest('hex'))
    slowest = Math.max(slowest, (Date.now() - begunAt) / 1000)
  }

  for (const server of servers) await ask(server, 'mutation { checkIntegrity }')
  const jobs = '{ jobs(first: 100) { nodes { kind state attempts } } }'
  const states = async () => (await ask(right, jobs)).jobs.nodes as { state: string; attempts: number }[]
  await expect.poll(async () => (await states()).every(({ state }) => state === 'DONE'), { timeout: 20_000 }).toBe(true)
  expect((await states()).every(({ attempts }) => attempts === 1)).toBe(true)

  const wrong = { email: 'unknown@example.com', password: 'wrong' }
  const statuses: number[] = []
  for (let round = 0; round < 12; round++) {
    statuses.push((await json(`${servers[round % 3]?.url}/api/auth/login`, wrong)).status)
  }
  // The sign-in during the setup counts towards the limit of 10, so fewer than 10 attempts may remain.
  expect(statuses.lastIndexOf(401)).toBeLessThan(statuses.indexOf(429))
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10)
  const published = await auditPublished(registry, 'shared')
  for (const { process } of servers) process.kill('SIGTERM')
  expect(await Promise.all(servers.map(({ exit }) => exit))).toEqual([0, 0, 0])
  const fault = `instances an hour apart, in ${rounds} publishes`
  recordFault(context, registry, { fault, seconds: slowest, ...sum(published, await auditLeftovers(registry)) })
})
