import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { createDatabase } from './postgres.ts'
import { freePort } from './free-port.ts'
import { folderForTest, launch, secretForTests, type Server } from './server-process.ts'
import { openFront } from './several.ts'
import { root } from './sources.ts'

/** Two instances on one PostgreSQL behind a proxy that asks each whether it is ready, as server/deploy/Caddyfile does. */
export class Pair {
  readonly servers: Server[] = []
  address = ''
  private readonly ports: number[] = []
  private readonly ready = new Set<number>()
  private readonly folder = folderForTest()
  private readonly database: string

  private constructor(database: string) {
    this.database = database
  }

  static async open(): Promise<Pair> {
    const { url, drop } = await createDatabase()
    const pair = new Pair(url)
    pair.ports.push(await freePort(), await freePort())
    const front = await openFront(() => pair.choose())
    pair.address = front.address
    const asking = setInterval(() => void Promise.all(pair.ports.map((port) => pair.ask(port))), 100)
    onTestFinished(async () => {
      clearInterval(asking)
      for (const { process } of pair.servers) process.kill('SIGKILL')
      await front.close()
      await drop()
    })
    return pair
  }

  async start(index: number, command: string[]): Promise<Server> {
    const port = this.ports[index] ?? 0
    const env = {
      PATH: process.env.PATH,
      SERVER_URL: this.address,
      JWT_SECRET: secretForTests,
      LISTEN_PORT: String(port),
      DATA_DIR: join(this.folder, String(index)),
      BLOB_PATH: join(this.folder, 'blobs'),
      DB_BACKEND: 'postgres',
      POSTGRES_URL: this.database,
      TRUST_PROXY: 'true',
      DRAIN_DELAY_MS: '500',
      BCRYPT_COST: '10',
      SCORING_ENABLED: 'false',
    }
    const server = await launch(command, `http://localhost:${port}`, { env, cwd: root })
    if (server.process.exitCode !== null) throw new Error(`The server did not start:\n${server.log()}`)
    this.servers[index] = server
    return server
  }

  async replace(index: number, command: string[]): Promise<Server> {
    const { process, exit, log } = this.servers[index] as Server
    process.kill('SIGTERM')
    if ((await exit) !== 0) throw new Error(`The server did not end well:\n${log()}`)
    return this.start(index, command)
  }

  private async ask(port: number): Promise<void> {
    const answer = await fetch(`http://localhost:${port}/readyz`, { signal: AbortSignal.timeout(2000) }).catch(() => null)
    if (answer?.ok) this.ready.add(port)
    else this.ready.delete(port)
  }

  private async choose(): Promise<number> {
    for (const until = Date.now() + 5000; this.ready.size === 0 && Date.now() < until;) await sleep(20)
    const port = [...this.ready][0] ?? 0
    this.ready.delete(port)
    this.ready.add(port) // goes to the end of the line
    return port
  }
}
