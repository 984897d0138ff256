import type { FastifyInstance } from 'fastify'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../server/app.ts'
import { type Config, readConfig } from '../server/platform/config/config.ts'
import { openDatabase } from '../server/platform/db/open/orm.ts'
import { openLog } from '../server/platform/http/log.ts'
import type { Timings } from '../server/platform/http/connections/pace.ts'
import { openServices } from '../server/open-services.ts'
import type { Services } from '../server/services.ts'
import type { Scope, Role } from '../server/platform/access/roles.ts'
import { Actor } from './actor.ts'
import { makeToken, makeUser, type UserOptions } from './factories.ts'
import { attributeStatements, recordStatement } from './support/attributed-statements.ts'
import { discoverOnce } from './support/discover-once.ts'
import { type Exchange, observeExchanges, assertNoLeaks, Secrets } from './support/leaks.ts'
import { ResponseValidator } from './support/openapi.ts'
import { createDatabase } from './support/postgres.ts'
import { s3Bucket } from './support/s3-service.ts'
import { type Balancer, listenBehindBalancer, runsTwoInstances, alternateRequests } from './support/load-balancer.ts'

discoverOnce()

export type TestOptions = {
  /** Environment variables, in addition to the defaults. */
  env?: Record<string, string>
  /** HTTP timeouts of the server. */
  timings?: Timings
  /** If false, no owner is created. */
  setUp?: boolean
  /** Start time of the clock. Change `app.clock.now` to move it. */
  now?: Date
  /** Uses the database of another app, as a second instance or a restarted server does. */
  sameDatabaseAs?: TestApp
  /** Always starts a single instance with a local folder, for tests of per-process state or of files in the folder. */
  alone?: boolean
  /** Settings that differ from those of the `sameDatabaseAs` app. */
  config?: Partial<Config>
}

/** Server for one test, with an empty database, a folder for its blobs, an adjustable clock, and everything it logged. */
export class TestApp implements AsyncDisposable {
  readonly anonymous: Actor
  readonly config: Config
  readonly services: Services
  readonly http: FastifyInstance
  readonly lines: string[]
  /** Every SQL statement that was executed. */
  readonly queries: string[]
  readonly clock: { now: Date | null }
  /** Secrets from responses, and passwords. They must not appear in the log or the database. */
  readonly secrets: Secrets
  /** Validates every response against the OpenAPI document. */
  readonly described: ResponseValidator
  private readonly cleanUp: () => Promise<void>
  /** Second instance, when tests run with two instances. */
  private readonly second: Instance | undefined
  private front: Balancer | undefined
  private people = 0
  private stopping: Promise<void> | undefined

  constructor(
    parts: Pick<TestApp, 'config' | 'services' | 'http' | 'lines' | 'queries' | 'clock' | 'secrets'>,
    cleanUp: () => Promise<void>,
    second?: Instance,
  ) {
    this.config = parts.config
    this.services = parts.services
    this.http = parts.http
    this.lines = parts.lines
    this.queries = parts.queries
    this.clock = parts.clock
    this.secrets = parts.secrets
    this.described = new ResponseValidator(this.config.SERVER_URL)
    observeExchanges(this.http, this.heard)
    if (second) observeExchanges(second.http, this.heard)
    this.second = second
    this.cleanUp = cleanUp
    this.anonymous = new Actor(this.http)
  }

  /** Creates a user with this role and returns an actor that sends a token with all scopes of the role. */
  async person(role: Role, options: UserOptions = {}): Promise<Actor> {
    const user = await makeUser(this.services, role, options)
    const secret = await this.token(user.id)
    return new Actor(this.http, { user, secret, ip: this.address() })
  }
  owner = (): Promise<Actor> => this.signInOwner()
  admin = (options?: UserOptions): Promise<Actor> => this.person('admin', options)
  member = (options?: UserOptions): Promise<Actor> => this.person('member', options)
  viewer = (options?: UserOptions): Promise<Actor> => this.person('viewer', options)

  /** Returns an actor without credentials for a user that was not created by the factories. */
  someone = (user: Actor['user']): Actor => new Actor(this.http, { user, ip: this.address() })

  /** Returns an actor that sends this token. */
  withToken = (secret: string): Actor => new Actor(this.http, { secret, ip: this.address() })

  /** Returns an actor for the same user with a token limited to these scopes. */
  async withScopes(actor: Actor, scopes: Scope[]): Promise<Actor> {
    const secret = await this.token(actor.id, scopes)
    return new Actor(this.http, { user: actor.user, secret, ip: this.address() })
  }

  /** The instances that serve this app: one, or two that receive requests in turn. */
  get instances(): Instance[] {
    return [this, ...(this.second ? [this.second] : [])]
  }

  /** Clears the cached information that the server has an owner. */
  forgetSetup = (): void => {
    for (const { services } of this.instances) delete services.state.isSetUp
  }

  /** Counts the SQL statements that requests sent by `work` execute. Statements of jobs do not count. */
  async countQueries(work: () => Promise<unknown>): Promise<number> {
    return (await attributeStatements(work)).statements.length
  }

  /** Listens on a free port and returns the base URL. */
  async listen(): Promise<string> {
    if (!this.second) return this.http.listen({ host: '127.0.0.1', port: 0 })
    this.front = await listenBehindBalancer([this.http, this.second.http])
    return this.front.address
  }

  /** Returns a new client IP address, so that tests do not share rate limits. */
  address = (): string => `10.${Math.floor(++this.people / 250)}.${this.people % 250}.7`

  /** Stops the server gracefully, as SIGTERM does. The database and blobs remain until the test ends. */
  stop = (): Promise<void> => (this.stopping ??= this.end())

  /** @throws Error if a secret is in the log or the database (including the audit log), or if a response does not match the OpenAPI document. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stop()
    } finally {
      await this.cleanUp()
    }
  }

  private readonly heard = (exchange: Exchange): void => {
    this.secrets.learn(exchange)
    this.described.compare(exchange)
  }

  private async end(): Promise<void> {
    if (this.second) {
      await endServing(this.second)
      await this.second.services.database.close()
    }
    await endServing(this)
    await this.front?.close()
    try {
      this.described.require()
      await assertNoLeaks(this, this.secrets)
    } finally {
      await this.services.database.close()
    }
  }

  private async token(userId: string, scopes?: Scope[]): Promise<string> {
    const secret = await makeToken(this.services, userId, scopes)
    this.secrets.add('token', secret)
    return secret
  }

  private async signInOwner(): Promise<Actor> {
    const row = await this.services.database.reads.get<{ id: string; email: string }>("select id, email from users where role = 'owner'")
    if (!row) return this.person('owner')
    return new Actor(this.http, {
      user: { id: row.id, email: row.email, displayName: 'Olive Owner' },
      secret: await this.token(row.id),
      ip: this.address(),
    })
  }
}

type Instance = Pick<TestApp, 'services' | 'http'>

async function endServing({ services, http }: Instance): Promise<void> {
  services.stopping.abort()
  // Closing alone would wait for connections whose response was just being sent and that their clients keep open for another request.
  if (http.server.listening) await http.drain(5000, 20)
  await http.close()
  await services.analyzer.close()
}

/** Starts a server for one test: `await using app = await testApp()`. */
export async function testApp(options: TestOptions = {}): Promise<TestApp> {
  const folder = await mkdtemp(join(tmpdir(), 'snug-test-'))
  const database = options.sameDatabaseAs ? null : await emptyDatabase(folder)
  const bucket = runsTwoInstances && !options.sameDatabaseAs && !options.alone ? await s3Bucket() : null
  const config = options.sameDatabaseAs
    ? { ...options.sameDatabaseAs.config, ...options.config }
    : readConfig({
        ...defaults,
        DATA_DIR: folder,
        ...database?.env,
        ...(bucket && { ...bucket.env, S3_PUBLIC_REDIRECTS: 'false' }),
        ...options.env,
      })
  const lines: string[] = []
  const queries: string[] = []
  const onQuery = (sql: string) => {
    queries.push(sql)
    recordStatement(sql)
  }
  const clock = options.sameDatabaseAs?.clock ?? { now: options.now ?? null }
  const secrets = options.sameDatabaseAs?.secrets ?? new Secrets()
  const log = openLog('debug', (line) => lines.push(line), config.LOG_FORMAT)
  const open = async (): Promise<Instance> => {
    const services = await openServices(config, log, { now: () => clock.now ?? new Date(), onQuery })
    return { services, http: await createApp(services, options.timings) }
  }
  const { services, http } = await open()
  const second = bucket ? await open() : undefined
  if (second) alternateRequests(http, second.http)
  const cleanUp = async () => {
    await database?.drop()
    await bucket?.[Symbol.asyncDispose]()
    // Work of a request whose client has left may still write there.
    await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  }
  const app = new TestApp({ config, services, http, lines, queries, clock, secrets }, cleanUp, second)
  if (options.setUp !== false && !options.sameDatabaseAs) await makeUser(services, 'owner', { displayName: 'Olive Owner' })
  return app
}

const defaults = {
  SERVER_URL: 'http://localhost:8080',
  JWT_SECRET: 'a secret for tests that is long enough',
  // No server listens on this port. Tests send no requests outside this machine.
  SDK_ARCHIVE_URL: 'http://127.0.0.1:9',
  FLUTTER_ARCHIVE_URL: 'http://127.0.0.1:9',
  BCRYPT_COST: '4',
  TRUST_PROXY: 'true',
  // Longer than a busy machine needs. Tests of these limits set their own.
  DB_CONNECT_TIMEOUT_MS: '120000',
  DB_POOL_TIMEOUT_MS: '120000',
  DB_LOCK_TIMEOUT_MS: '120000',
  DB_STATEMENT_TIMEOUT_MS: '120000',
}

async function emptyDatabase(folder: string) {
  if (process.env.TEST_DB !== 'postgres') {
    const path = join(folder, 'registry.sqlite')
    if (process.env.TEST_SQLITE) await copyFile(process.env.TEST_SQLITE, path)
    return { env: { SQLITE_PATH: path }, drop: async () => {} }
  }
  const database = await createDatabase(async (url) => {
    const migrated = await openDatabase(readConfig({ ...defaults, DB_BACKEND: 'postgres', POSTGRES_URL: url }))
    await migrated.close()
  })
  return { env: { DB_BACKEND: 'postgres', POSTGRES_URL: database.url }, drop: database.drop }
}
