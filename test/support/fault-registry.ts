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
  /** Data folder of the server. */
  folder?: string
  /** Environment variables, in addition to the defaults. */
  env?: Record<string, string>
}
type Planned = Pick<ArchiveOptions, 'name' | 'version' | 'pubspec'>

/** Versions to publish. */
export type Plan = {
  /** Prefix of the package names. */
  label: string
  publishes: number
  /** Number of packages. The default is ten. */
  packages?: number
  /** Returns lines to append to the pubspec. Called when each archive is created. */
  pubspec?: () => string
}

/** Time in milliseconds for which clients retry before the test fails. */
const retryTimeoutMs = 60_000

/** Server for fault injection, always on the same port, with clients that record which versions were acknowledged. */
export class FaultRegistry {
  readonly backend: Backend
  readonly folder: string
  readonly env: Record<string, string>
  /** Base URL of the port the server listens on, regardless of SERVER_URL. */
  readonly listensAt: string
  /** SHA-256 of the archive of every acknowledged version. Keys are `name version`. */
  readonly acknowledged = new Map<string, string>()
  /** Time in seconds from the end of a fault until writes must succeed again. A busy machine slows the first start as well. */
  maxSecondsToWrite = maxSecondsToWrite
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

  /** Base URL that clients use. To change it, set SERVER_URL in `env` before starting the server. */
  get url(): string {
    return this.env.SERVER_URL ?? this.listensAt
  }

  /** Starts a server on an empty database and completes its setup. */
  static async open(backend: Backend, { folder = folderForTest(), env = {} }: OpenOptions = {}): Promise<FaultRegistry> {
    const registry = new FaultRegistry(backend, folder, await freePort(), { ...(await databaseOf(backend)), ...env })
    const startedAt = Date.now()
    await registry.start()
    registry.maxSecondsToWrite = Math.max(maxSecondsToWrite, (3 * (Date.now() - startedAt)) / 1000)
    registry.token = await ownersToken(registry.server)
    return registry
  }

  /** Starts the server. `kill` and `stop` wait until it has started. */
  start(): Promise<void> {
    return (this.starting = this.startNow())
  }

  private async startNow(): Promise<void> {
    const server = await start(this.folder, this.env)
    if (server.process.exitCode !== null) throw new Error(`The server did not start:\n${server.log()}`)
    this.server = { ...server, url: this.listensAt }
  }

  /** Waits for a pending start. */
  settled = async (): Promise<void> => this.starting

  async kill(): Promise<void> {
    await this.starting
    this.server.process.kill('SIGKILL')
    await this.server.exit
  }

  /** Stops the server with SIGTERM and returns its exit code. */
  async stop(): Promise<number | null> {
    await this.starting
    this.server.process.kill('SIGTERM')
    return this.server.exit
  }

  get client(): PubClient {
    return new PubClient({ hostedUrl: this.url, address: this.listensAt, token: this.token })
  }

  /** Publishes a version. Retries until it succeeds, as a user who repeats the command. */
  async publish(planned: Planned): Promise<void> {
    const archive = await packageArchive(planned)
    const until = Date.now() + retryTimeoutMs
    for (;;) {
      const { url } = this
      try {
        await this.client.publish(archive)
        break
      } catch (error) {
        // A client that still uses the previous address receives an upload URL at the new address, which it does not trust.
        const hasMoved = url !== this.url
        if (Date.now() > until || !(hasMoved || isTransient(error))) throw error
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
    this.acknowledged.set(`${planned.name} ${planned.version}`, createHash('sha256').update(archive).digest('hex'))
    for (const notify of this.waiting.splice(0)) notify(Date.now())
  }

  /** Publishes versions of several packages with four concurrent clients. */
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

  /** Returns the files, URL paths and checksums of the archives of all acknowledged versions. */
  archives(): { path: string; served: string; sha256: string }[] {
    return [...this.acknowledged].map(([key, sha256]) => ({
      path: join(this.folder, 'blobs', 'sha256', sha256.slice(0, 2), sha256.slice(2, 4), sha256),
      served: `/api/archives/${key.replace(' ', '-')}.tar.gz`,
      sha256,
    }))
  }

  /** Resolves with the time of the next acknowledgement. */
  nextAcknowledgement = (): Promise<number> => new Promise((resolve) => this.waiting.push(resolve))

  /** Sends a GET request with the owner's token. Retries while the server is unavailable, for as long as writes may fail after a fault. */
  async read(path: string): Promise<{ status: number; bytes: Buffer }> {
    let answer: Awaited<ReturnType<FaultRegistry['readOnce']>>
    const until = Date.now() + this.maxSecondsToWrite * 1000
    do answer = await this.readOnce(path)
    while (answer.status === 503 && Date.now() < until)
    return answer
  }

  /** Sends a single GET request with the owner's token. */
  async readOnce(path: string): Promise<{ status: number; bytes: Buffer }> {
    const answer = await fetch(this.listensAt + path, { headers: { authorization: `Bearer ${this.token}` } })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  /** Sends a GraphQL query with the owner's token and returns its data. */
  async query<Data>(query: string): Promise<Data> {
    const { body } = await json(`${this.listensAt}/graphql`, { query }, { authorization: `Bearer ${this.token}` })
    return body.data as Data
  }
}

/**
 * Reports whether an error is transient: a broken connection, 503 or 429. Includes uploads that were replaced because the retrying client has started
 * more than the limit of 100 uploads. All other errors are final, and 500 is a bug.
 */
const isTransient = (error: unknown): boolean =>
  !(error instanceof PubFailure) || [503, 429].includes(error.status) || (error.status === 404 && error.message.endsWith('Publish again.'))

/** Creates an empty database that is dropped after the test, and returns its settings. SQLite needs none. */
export async function databaseOf(backend: Backend): Promise<Record<string, string>> {
  if (backend === 'sqlite') return {}
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}
