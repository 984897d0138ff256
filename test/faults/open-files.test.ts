import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { freePort } from '../support/free-port.ts'
import { PubClient } from '../support/pub-client.ts'
import { folderForTest, launch, ownersToken, secretForTests, type Server } from '../support/server-process.ts'
import { databaseOf } from '../support/fault-registry.ts'

const limit = 256
const archives = limit + 50
const others = 40

/** Starts a server that may open only `limit` files. */
async function startLimited(env: Record<string, string>): Promise<Server> {
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const settings = {
    SERVER_URL: url,
    LISTEN_PORT: port,
    JWT_SECRET: secretForTests,
    DATA_DIR: folderForTest(),
    SCORING_ENABLED: 'false',
    ...env,
  }
  const command = `ulimit -n ${limit} && exec "$0" server/platform/launch/snug.mjs start`
  const server = await launch(['sh', '-c', command, process.execPath], url, {
    env: { PATH: process.env.PATH, BCRYPT_COST: '10', ...settings },
  })
  if (server.process.exitCode !== null) throw new Error(server.log())
  return server
}

/** Runs `work` for every number below `count`, eight at a time. */
async function inParallel<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const run = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index)
  }
  await Promise.all(Array.from({ length: 8 }, run))
  return results
}

const openFiles = ({ process: { pid } }: Server): number => readdirSync(`/proc/${pid}/fd`).length

async function idleConnection(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  return socket
}

it.each(['sqlite', 'postgres'] as const)(
  'publishes and stays ready with few open files while one reader opens the files of many archives, on %s',
  async (backend) => {
    const server = await startLimited(await databaseOf(backend))
    expect(server.log()).toContain(`This process may open only ${limit} files and connections. Raise the limit to 4096 or more`)
    const token = await ownersToken(server)
    const headers = { authorization: `Bearer ${token}` }
    const client = new PubClient({ hostedUrl: server.url, address: server.url, token })
    await inParallel(archives, async (index) =>
      client.publish(await packageArchive({ name: `pack_${index % 10}`, version: `1.0.${index}` })),
    )
    const read = async (index: number) => {
      const response = await fetch(`${server.url}/raw/pack_${index % 10}/1.0.${index}/pubspec.yaml`, { headers })
      return { status: response.status, text: await response.text() }
    }
    const reading = inParallel(archives, read)
    const publishing = inParallel(others, async (index) => client.publish(await packageArchive({ name: 'other', version: `1.0.${index}` })))
    const asking = inParallel(others, async () => (await fetch(`${server.url}/readyz`)).status)
    expect((await reading).filter(({ status, text }) => status !== 200 || !text.includes('name: pack_'))).toEqual([])
    await publishing
    expect(new Set(await asking)).toEqual(new Set([200]))
    expect(openFiles(server)).toBeLessThan(limit / 2)
    // All copies are still held or can be made again.
    expect((await inParallel(others, read)).map(({ status }) => status)).toEqual(Array.from({ length: others }, () => 200))
    expect(server.log()).not.toMatch(/E[MN]FILE/)
  },
)

it('accepts new connections and publishes while idle connections would use all open files', async () => {
  const server = await startLimited({ MAX_CONNECTIONS_PER_ADDRESS: '0' })
  const token = await ownersToken(server)
  const client = new PubClient({ hostedUrl: server.url, address: server.url, token })
  const sockets = await inParallel(limit + 50, () => idleConnection(server.url))
  expect(sockets.filter(({ destroyed }) => !destroyed).length).toBeGreaterThan(0)
  await expect.poll(async () => (await fetch(`${server.url}/readyz`).catch(() => null))?.status, { timeout: 30_000 }).toBe(200)
  await client.publish(await packageArchive({ name: 'acme', version: '1.0.0' }))
  expect(openFiles(server)).toBeLessThan(limit)
  expect(server.log()).toContain(`of the ${limit} files that this process may open`)
  expect(server.log()).not.toMatch(/E[MN]FILE| 500 /)
})
