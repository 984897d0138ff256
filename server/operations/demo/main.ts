import type { FastifyInstance } from 'fastify'
import { createApp } from '../../app.ts'
import { audit } from '../../accounts/audit/service.ts'
import { SetupCode } from '../../accounts/setup/entity.ts'
import { User } from '../../accounts/users/entity.ts'
import { hashPassword } from '../../accounts/users/hashing.ts'
import { emailKey } from '../../accounts/users/input.ts'
import { generatePassword } from '../../accounts/users/password.ts'
import { openServices } from '../../open-services.ts'
import { emailOf, people } from './catalog.ts'
import { type DemoServer, fillServer } from './fill.ts'
import { ConfigError, readConfig } from '../../platform/config/config.ts'
import { cookieName } from '../../platform/http/cookies.ts'
import { basePath } from '../../platform/http/public-url.ts'
import { openLog } from '../../platform/http/log.ts'
import { db } from '../../platform/db/query.ts'
import { countJobs } from '../../platform/jobs/queue.ts'
import { startWorker } from '../../platform/jobs/worker.ts'
import type { Services } from '../../services.ts'
import { recordDownloads, saveDownloads } from '../../registry/downloads/tally.ts'
import { dayOf, rollDownloads } from '../../registry/downloads/service.ts'
import { createRandom } from './random.ts'
import type { Release } from './releases.ts'

/** Exit code EX_CONFIG of sysexits.h. */
const badConfiguration = 78

/** Fills the empty server of these settings with the packages of a made-up company and prints how to sign in. */
async function runDemo(): Promise<void> {
  const config = readConfig()
  const log = openLog('warning', (line) => process.stderr.write(line))
  const clock = { now: new Date() }
  const services = await openServices(config, log, { now: () => clock.now })
  const app = await createApp(services)
  try {
    await requireEmpty(services)
    const end = new Date()
    const password = generatePassword()
    const releases = await fillServer(demoServer(services, app, { clock, password }), end)
    clock.now = end
    report('Adding a year of downloads.')
    await addDownloads(services, releases, end)
    await analyze(services)
    const owner = emailOf(people[0].name)
    report(`Start the server, and sign in at ${config.SERVER_URL}/login as ${owner} with the password ${password}`)
    report('All other people of the demo have the same password.')
  } finally {
    services.stopping.abort()
    await services.analyzer.close()
    await app.close()
    await services.database.close()
  }
}

const report = (text: string): void => void process.stdout.write(`${text}\n`)

async function requireEmpty({ database, config }: Services): Promise<void> {
  const row = await database.reads.get(db.selectFrom('users').select('id').unionAll(db.selectFrom('packages').select('id')).limit(1))
  if (row) throw new Error(`The server in ${config.DATA_DIR} is not empty. Set DATA_DIR to a new folder for the demo.`)
}

/** Runs the jobs that publishing has enqueued: the analysis of all versions. */
async function analyze(services: Services): Promise<void> {
  const remaining = async () => {
    const { queued, running } = await countJobs(services.database.reads)
    return queued + running
  }
  const worker = startWorker(services, services.jobHandlers(services), { concurrency: 2, pollMs: 1000 })
  const timer = setInterval(() => void remaining().then((left) => report(`Analyzing versions: ${left} left.`)), 10_000)
  try {
    while ((await remaining()) > 0) {
      await worker.settled()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  } finally {
    clearInterval(timer)
    await worker.stop()
  }
}

type Session = { clock: { now: Date }; password: string }

/** Returns access to the server in this process, without a network connection. */
function demoServer(services: Services, app: FastifyInstance, { clock, password }: Session): DemoServer {
  const { config } = services
  const send = sender(app, config.SERVER_URL)
  return {
    serverUrl: config.SERVER_URL,
    password,
    allowsPublic: config.PUBLIC_PACKAGES_ENABLED,
    setTime: (time) => void (clock.now = time),
    createOwner: (email, displayName) => createOwner(services, { email, displayName, password }),
    signIn: async (email) => void (await signIn(send, email, password)),
    createToken: (email) => createToken(send, email, password),
    request: async (secret, method, path, body) => (await send(method, path, { secret, body })).body,
    upload: async (secret, path, archive) => void (await send('POST', path, { secret, body: archive })),
    report,
  }
}

type Answer = { body: Record<string, unknown>; cookies: Record<string, string> }
type Call = { secret?: string | null; cookies?: Record<string, string>; body?: unknown }
type Send = (method: 'GET' | 'POST' | 'PUT', path: string, call: Call) => Promise<Answer>

/** Returns a function that sends requests. It throws if the server rejects one. */
function sender(app: FastifyInstance, serverUrl: string): Send {
  const base = basePath(serverUrl)
  const csrfName = cookieName('csrf', serverUrl)
  let callers = 0
  return async (method, path, { secret, cookies = {}, body }) => {
    const response = await app.inject({
      method,
      url: `${base}${path}`,
      cookies,
      // Different networks, so that the limits for one client do not apply.
      remoteAddress: `10.${(callers >> 8) & 255}.${callers++ & 255}.7`,
      headers: {
        ...(secret && { authorization: `Bearer ${secret}` }),
        'x-csrf-token': cookies[csrfName] ?? '',
        ...(Buffer.isBuffer(body) && { 'content-type': 'application/octet-stream' }),
      },
      ...(body !== undefined && { payload: body as Buffer | object }),
    })
    const parsed = /json/.test(String(response.headers['content-type'])) && response.body ? response.json<Record<string, unknown>>() : {}
    if (response.statusCode >= 400 || parsed['errors']) throw new Error(`${method} ${path}: ${response.statusCode} ${response.body}`)
    return { body: parsed, cookies: Object.fromEntries(response.cookies.map(({ name, value }) => [name, value])) }
  }
}

const signIn = (send: Send, email: string, password: string): Promise<Answer> =>
  send('POST', '/api/auth/login', { body: { email, password } })

async function createToken(send: Send, email: string, password: string): Promise<string> {
  const { cookies } = await signIn(send, email, password)
  const { body } = await send('POST', '/api/auth/keys', { cookies, body: { name: 'Laptop', scopes: ['read', 'write', 'admin'] } })
  return String(body['secret'])
}

async function createOwner(services: Services, { email, displayName, password }: { email: string; displayName: string; password: string }) {
  const passwordHash = await hashPassword({ ...services, ip: 'demo' }, password)
  const em = services.database.fork()
  await em.transactional(async (inner) => {
    const account = { email, emailKey: emailKey(email), displayName, role: 'owner', passwordHash, createdAt: services.now() } as const
    const owner = inner.create(User, account)
    audit(inner, { kind: 'server.setup_completed', actor: owner, user: owner, summary: `${displayName} completed the setup`, ip: null })
    await inner.nativeDelete(SetupCode, {})
  })
}

try {
  await runDemo()
} catch (error) {
  const problems = error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : String(error)]
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.exit(error instanceof ConfigError ? badConfiguration : 1)
}
process.exit(0)

/** Number of earlier versions that are still downloaded after a new one was published. */
const versionsInUse = 3

/** Adds downloads for each day of the year before `end`: more for popular packages and newer versions, fewer at weekends, with slow growth. */
async function addDownloads(
  services: Pick<Services, 'database' | 'state' | 'now'>,
  releases: readonly Release[],
  end: Date,
): Promise<void> {
  const random = createRandom(11)
  const last = dayOf(end)
  for (const [name, all] of Map.groupBy(releases, ({ pkg }) => pkg.name)) {
    const weight = all[0]?.pkg.weight ?? 1
    for (let day = dayOf(all[0]?.at ?? end); day <= last; day++) {
      const isWeekend = [0, 6].includes(new Date(day * 86_400_000).getUTCDay())
      const growth = 0.5 + 0.5 * (1 - (last - day) / 365)
      const total = weight * growth * (isWeekend ? 0.15 : 1) * (0.7 + 0.6 * random.next())
      const known = all.filter(({ at }) => dayOf(at) <= day).slice(-versionsInUse)
      for (const [age, { version }] of known.toReversed().entries()) {
        const downloads = Math.round(total / 2.2 ** age)
        if (downloads > 0) recordDownloads(services, { name, version, day, downloads })
      }
    }
    await saveDownloads(services)
  }
  await rollDownloads(services)
}
