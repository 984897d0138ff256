import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { packageArchive } from './archive.ts'
import { maxSecondsToWrite } from './fault-table.ts'
import { createDatabase } from './postgres.ts'
import { PubClient, PubFailure } from './pub-client.ts'
import { folderForTest, freePort, ownersToken, type Server, start } from './server-process.ts'

export type Backend = 'sqlite' | 'postgres'
type OpenOptions = {
  /** Where the server keeps its data. */
  folder?: string
  /** Variables beside the defaults. */
  env?: Record<string, string>
}
type Planned = { name: string; version: string }

/** How long clients go on trying before the test gives up. */
const patienceMs = 60_000

/** A server that faults happen to, always at the same address, with clients that remember what it acknowledged. */
export class FaultRegistry {
  readonly folder: string
  readonly env: Record<string, string>
  readonly url: string
  /** The archive's SHA-256 of every version whose publishing was acknowledged, by `name version`. */
  readonly acknowledged = new Map<string, string>()
  server!: Server
  token = ''
  private starting: Promise<void> | undefined
  private readonly waiting: ((moment: number) => void)[] = []

  private constructor(folder: string, port: number, env: Record<string, string>) {
    this.folder = folder
    this.url = `http://localhost:${port}`
    this.env = { LISTEN_PORT: String(port), SERVER_URL: this.url, ...env }
  }

  /** Starts a server on an empty database and sets it up. */
  static async open(backend: Backend, { folder = folderForTest(), env = {} }: OpenOptions = {}): Promise<FaultRegistry> {
    const registry = new FaultRegistry(folder, await freePort(), { ...(await databaseOf(backend)), ...env })
    await registry.start()
    registry.token = await ownersToken(registry.server)
    return registry
  }

  /** Starts the server; `kill` and `stop` wait until that has happened. */
  start(): Promise<void> {
    return (this.starting = this.startNow())
  }

  private async startNow(): Promise<void> {
    const server = await start(this.folder, this.env)
    if (server.process.exitCode !== null) throw new Error(`The server did not start:\n${server.log()}`)
    this.server = { ...server, url: this.url }
  }

  /** Resolves when a start that is under way has ended. */
  settled = async (): Promise<void> => this.starting

  async kill(): Promise<void> {
    await this.starting
    this.server.process.kill('SIGKILL')
    await this.server.exit
  }

  /** Ends the server as an operator does; gives its exit code. */
  async stop(): Promise<number | null> {
    await this.starting
    this.server.process.kill('SIGTERM')
    return this.server.exit
  }

  get client(): PubClient {
    return new PubClient({ hostedUrl: this.url, address: this.url.replace('localhost', '127.0.0.1'), token: this.token })
  }

  /** Publishes as a person does who runs the command again until it succeeds. */
  async publish(planned: Planned): Promise<void> {
    const archive = await packageArchive(planned)
    const until = Date.now() + patienceMs
    for (;;) {
      try {
        await this.client.publish(archive)
        break
      } catch (error) {
        if (Date.now() > until || !isPassing(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
    this.acknowledged.set(`${planned.name} ${planned.version}`, createHash('sha256').update(archive).digest('hex'))
    for (const tell of this.waiting.splice(0)) tell(Date.now())
  }

  /** Publishes `count` versions of ten packages, as `clients` people at once. */
  async publishMany(count: number, clients = 4): Promise<void> {
    const planned = Array.from({ length: count }, (_, index) => ({
      name: `package_${index % 10}`,
      version: `1.0.${Math.floor(index / 10)}`,
    }))
    const work = async () => {
      for (let next = planned.shift(); next; next = planned.shift()) await this.publish(next)
    }
    await Promise.all(Array.from({ length: clients }, work))
  }

  /** The moment of the next acknowledgement. */
  nextAcknowledgement = (): Promise<number> => new Promise((resolve) => this.waiting.push(resolve))

  /** What the server answers to a read with the owner's token, once it is available. */
  async read(path: string): Promise<{ status: number; bytes: Buffer }> {
    let answer: Response
    const until = Date.now() + maxSecondsToWrite * 1000
    do answer = await fetch(this.url + path, { headers: { authorization: `Bearer ${this.token}` } })
    while (answer.status === 503 && Date.now() < until)
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
}

/** What goes away when the server is back: a broken connection, 503, 429. Everything else is an answer, and 500 a fault. */
const isPassing = (error: unknown): boolean => !(error instanceof PubFailure) || error.status === 503 || error.status === 429

async function databaseOf(backend: Backend): Promise<Record<string, string>> {
  if (backend === 'sqlite') return {}
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}
