import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { createDatabase } from './postgres.ts'
import { freePort } from './free-port.ts'
import { folderForTest, launch, secretForTests, type Server } from './server-process.ts'
import { openBalancer } from './load-balancer.ts'
import { root } from './sources.ts'

type Options = {
  /** Environment variables, in addition to the defaults. */
  env?: Record<string, string>
  /** Starts a proxy in front of these instances and returns its port. Without it, a balancer in this process polls their readiness. */
  front?: (instances: string[]) => Promise<number>
}

/** Two instances on one PostgreSQL database, behind a proxy. */
export class Pair {
  readonly servers: Server[] = []
  address = ''
  private readonly ports: number[] = []
  private readonly ready = new Set<number>()
  private readonly folder = folderForTest()
  private readonly env: Record<string, string>

  private constructor(env: Record<string, string>) {
    this.env = env
  }

  static async open({ env = {}, front }: Options = {}): Promise<Pair> {
    const { url, drop } = await createDatabase()
    const pair = new Pair({ DB_BACKEND: 'postgres', POSTGRES_URL: url, ...env })
    pair.ports.push(await freePort(), await freePort())
    onTestFinished(async () => {
      for (const { process } of pair.servers) process.kill('SIGKILL')
      await drop()
    })
    if (front) pair.address = `http://127.0.0.1:${await front(pair.ports.map((port) => `http://127.0.0.1:${port}`))}`
    else await pair.openOwnFront()
    return pair
  }

  private async openOwnFront(): Promise<void> {
    const front = await openBalancer(() => this.choose())
    this.address = front.address
    const asking = setInterval(() => void Promise.all(this.ports.map((port) => this.ask(port))), 100)
    onTestFinished(async () => {
      clearInterval(asking)
      await front.close()
    })
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
      TRUST_PROXY: 'true',
      DRAIN_DELAY_MS: '500',
      BCRYPT_COST: '10',
      SCORING_ENABLED: 'false',
      ...this.env,
    }
    const server = await launch(command, `http://localhost:${port}`, { env, cwd: root })
    if (server.process.exitCode !== null) throw new Error(`The server did not start:\n${server.log()}`)
    this.servers[index] = server
    return server
  }

  async replace(index: number, command: string[]): Promise<Server> {
    const { process, exit, log } = this.servers[index] as Server
    process.kill('SIGTERM')
    if ((await exit) !== 0) throw new Error(`The server did not exit with code 0:\n${log()}`)
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
    this.ready.add(port) // moves it to the end of the rotation
    return port
  }
}
