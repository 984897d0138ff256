import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { createDatabase } from '../support/postgres.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'

/** A machine whose clock is an hour ahead, or behind: what the program asks for the time is that much off. */
const clockOff = (hours: number) => {
  const script = `const real = Date.now; const off = ${hours * 3_600_000}; Date.now = () => real() + off;
    globalThis.Date = new Proxy(Date, { construct: (of, args, as) => Reflect.construct(of, args.length ? args : [real() + off], as) })`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

it('shares the time of the database among instances whose clocks are hours apart', async () => {
  const { url: POSTGRES_URL, drop } = await createDatabase()
  onTestFinished(drop)
  const folder = folderForTest()
  const env = { DB_BACKEND: 'postgres', POSTGRES_URL }
  const right = await start(folder, env)
  const authorization = `Bearer ${await ownersToken(right)}`
  const servers = [right, await start(folder, { ...env, ...clockOff(1) }), await start(folder, { ...env, ...clockOff(-1) })]
  const ask = async ({ url }: Server, query: string) => (await json(`${url}/graphql`, { query }, { authorization })).body.data
  const timeOf = async ({ url }: Server) => Date.parse((await json(`${url}/api/v1/health`)).body.timestamp)
  for (const server of servers) expect(Math.abs((await timeOf(server)) - Date.now())).toBeLessThan(5000)

  // Announced on one instance, sent to another one.
  for (let round = 0; round < 20; round++) {
    const [announcing, receiving] = [servers[round % 3], servers[(round + 1) % 3]] as [Server, Server]
    const { status, body } = await json(`${announcing.url}/api/packages/versions/new`, undefined, { authorization })
    expect(status).toBe(200)
    const archive = await packageArchive({ name: 'acme', version: `1.0.${round}` })
    const address = `${receiving.url}${new URL(body.url).pathname}?upload_id=${body.fields.upload_id}`
    const headers = { authorization, 'content-type': 'application/octet-stream' }
    const sent = await fetch(address, { method: 'POST', body: new Uint8Array(archive), headers, redirect: 'manual' })
    expect(sent.status).toBe(302)
    const finish = new URL(sent.headers.get('location') ?? '')
    expect((await fetch(servers[(round + 2) % 3]?.url + finish.pathname + finish.search, { headers: { authorization } })).status).toBe(200)
  }
  expect((await json(`${right.url}/api/packages/acme`, undefined, { authorization })).body.versions).toHaveLength(20)

  for (const server of servers) await ask(server, 'mutation { checkIntegrity }')
  const jobs = '{ jobs(first: 100) { nodes { kind state attempts } } }'
  const states = async () => (await ask(right, jobs)).jobs.nodes as { state: string; attempts: number }[]
  await expect.poll(async () => (await states()).every(({ state }) => state === 'DONE'), { timeout: 20_000 }).toBe(true)
  expect((await states()).every(({ attempts }) => attempts === 1)).toBe(true)

  const wrong = { email: 'nobody@example.com', password: 'wrong' }
  const statuses: number[] = []
  for (let round = 0; round < 12; round++) {
    statuses.push((await json(`${servers[round % 3]?.url}/api/auth/login`, wrong)).status)
  }
  // One sign-in has counted when the server was set up.
  expect(statuses.lastIndexOf(401)).toBeLessThan(statuses.indexOf(429))
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10)
  await publishTo(right, authorization, await packageArchive({ name: 'last', version: '1.0.0' }))
})
