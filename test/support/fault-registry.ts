import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { join } from 'node:path'
import { type ArchiveOptions, packageArchive } from './archive.ts'
import { maxSecondsToWrite } from './fault-table.ts'
import { createDatabase } from './postgres.ts'
import { PubClient, PubFailure } from './pub-client.ts'
import { freePort } from './free-port.ts'
import { folderForTest, json, ownersToken, type Server, start } from './server-process.ts'

export type Backend = 'sqlite' | 'postgres'
type OpenOptions = {
  /** Where the server keeps its data. */
  folder?: string
  /** Variables beside the defaults. */
  env?: Record<string, string>
}
type Planned = Pick<ArchiveOptions, 'name' | 'version' | 'pubspec'>

/** What is to be published. */
export type Plan = {
  /** Begins the names of the packages. */
  label: string
  publishes: number
  /** Of so many packages; ten, unless said otherwise. */
  packages?: number
  /** More lines of the pubspec, as they are at the moment when an archive is made. */
  pubspec?: () => string
}

/** How long clients go on trying before the test gives up. */
const patienceMs = 60_000

/** A server that faults happen to, always at the same address, with clients that remember what it acknowledged. */
export class FaultRegistry {
  readonly backend: Backend
  readonly folder: string
  readonly env: Record<string, string>
  /** Where it listens, whatever its address is called. */
  readonly listensAt: string
  /** The archive's SHA-256 of every version whose publishing was acknowledged, by `name version`. */
  readonly acknowledged = new Map<string, string>()
  server!: Server
  token = ''
  private starting: Promise<void> | undefined
  private readonly waiting: ((moment: number) => void)[] = []

  private constructor(backend: Backend, folder: string, port: number, env: Record<string, string>) {
    this.backend = backend
    this.folder = folder
    this.listensAt = `http://127.0.0.1:${port}`
    this.env = { LISTEN_PORT: String(port), SERVER_URL: `http://localhost:${port}`, ...env }
  }

  /** The address that clients know. Change it in `env` before a start. */
  get url(): string {
    return this.env.SERVER_URL ?? this.listensAt
  }

  /** Starts a server on an empty database and sets it up. */
  static async open(backend: Backend, { folder = folderForTest(), env = {} }: OpenOptions = {}): Promise<FaultRegistry> {
    const registry = new FaultRegistry(backend, folder, await freePort(), { ...(await databaseOf(backend)), ...env })
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
    this.server = { ...server, url: this.listensAt }
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
    return new PubClient({ hostedUrl: this.url, address: this.listensAt, token: this.token })
  }

  /** Publishes as a person does who runs the command again until it succeeds. */
  async publish(planned: Planned): Promise<void> {
    const archive = await packageArchive(planned)
    const until = Date.now() + patienceMs
    for (;;) {
      const { url } = this
      try {
        await this.client.publish(archive)
        break
      } catch (error) {
        // A client that does not know the server's new address yet is told of one that it does not trust.
        const hasMoved = url !== this.url
        if (Date.now() > until || !(hasMoved || isPassing(error))) throw error
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
    this.acknowledged.set(`${planned.name} ${planned.version}`, createHash('sha256').update(archive).digest('hex'))
    for (const tell of this.waiting.splice(0)) tell(Date.now())
  }

  /** Publishes versions of several packages, as four people at once. */
  async publishMany({ label, publishes, packages = 10, pubspec = () => '' }: Plan): Promise<void> {
    const planned = Array.from({ length: publishes }, (_, index) => ({
      name: `${label}_${index % packages}`,
      version: `1.0.${Math.floor(index / packages)}`,
    }))
    const work = async () => {
      for (let next = planned.shift(); next; next = planned.shift()) await this.publish({ ...next, pubspec: pubspec() })
    }
    await Promise.all(Array.from({ length: 4 }, work))
  }

  /** Where the archives of acknowledged versions are, and where they are served. */
  archives(): { path: string; served: string; sha256: string }[] {
    return [...this.acknowledged].map(([key, sha256]) => ({
      path: join(this.folder, 'blobs', 'sha256', sha256.slice(0, 2), sha256.slice(2, 4), sha256),
      served: `/api/archives/${key.replace(' ', '-')}.tar.gz`,
      sha256,
    }))
  }

  /** The moment of the next acknowledgement. */
  nextAcknowledgement = (): Promise<number> => new Promise((resolve) => this.waiting.push(resolve))

  /** What the server answers to a read with the owner's token, once it is available. */
  async read(path: string): Promise<{ status: number; bytes: Buffer }> {
    let answer: Awaited<ReturnType<FaultRegistry['readOnce']>>
    const until = Date.now() + maxSecondsToWrite * 1000
    do answer = await this.readOnce(path)
    while (answer.status === 503 && Date.now() < until)
    return answer
  }

  /** What the server answers to a read with the owner's token now. */
  async readOnce(path: string): Promise<{ status: number; bytes: Buffer }> {
    const answer = await fetch(this.listensAt + path, { headers: { authorization: `Bearer ${this.token}` } })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  /** What the server answers to a query with the owner's token. */
  async query<Data>(query: string): Promise<Data> {
    const { body } = await json(`${this.listensAt}/graphql`, { query }, { authorization: `Bearer ${this.token}` })
    return body.data as Data
  }
}

/**
 * What goes away when the server is back: a broken connection, 503, 429. And an upload that was replaced, because the others of a person
 * who tries again and again are a hundred by now. Everything else is an answer, and 500 a fault.
 */
const isPassing = (error: unknown): boolean =>
  !(error instanceof PubFailure) || [503, 429].includes(error.status) || (error.status === 404 && error.message.endsWith('Publish again.'))

async function databaseOf(backend: Backend): Promise<Record<string, string>> {
  if (backend === 'sqlite') return {}
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}
