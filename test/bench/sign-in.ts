import { setTimeout as sleep } from 'node:timers/promises'
import { startRegistry, type Registry } from './registry.ts'
import { stopServer } from './processes.ts'
import { median } from './rounds.ts'
import type { Row } from './table.ts'

const password = 'correct horse battery'
const headers = { 'content-type': 'application/json' }

type Account = { userId: string; email: string }

/**
 * Checks that the response times of refused logins differ by at most a tenth, so that they reveal nothing about accounts, and that the health check,
 * which load balancers use, responds within 300 ms during a hundred concurrent logins. Uses the server's default hash cost.
 */
export async function signInRows(folder: string, { attempts, parallel }: { attempts: number; parallel: number }): Promise<Row[]> {
  const registry = await startRegistry(folder, { TRUST_PROXY: 'true', BCRYPT_COST: '12' })
  try {
    const refusals = await timeRejections(registry, attempts)
    const health = await healthDuring(registry, parallel)
    const medians = [...refusals].map(([who, times]) => ({ who, time: median(times) }))
    const fastest = Math.min(...medians.map(({ time }) => time))
    return [
      ...medians.map(({ who, time }) => row(`refused login: ${who}, compared with the fastest`, time, fastest, 1.1)),
      row(`health at p99 during ${parallel} logins at once`, percentile(health, 0.99), 300, 1),
      row(`health at p50 during ${parallel} logins at once`, percentile(health, 0.5), 300, 1),
    ]
  } finally {
    await stopServer(registry)
  }
}

/** Sends one attempt of each kind in turn, so that other load on the machine affects all kinds equally. */
async function timeRejections(registry: Registry, attempts: number): Promise<Map<string, number[]>> {
  // Each account allows fifty failures per hour.
  const groups = Math.ceil(attempts / 40)
  const some = (make: () => Promise<Account>) => Promise.all(Array.from({ length: groups }, make))
  const subjects = new Map<string, Account[]>([
    ['unknown address', await some(async () => ({ userId: '', email: `unknown-${++made}@example.com` }))],
    ['wrong password', await some(() => account(registry))],
    ['disabled account', await some(() => disabledAccount(registry))],
    ['invited account', await some(() => account(registry, 'invite'))],
  ])
  const times = new Map([...subjects.keys()].map((who) => [who, [] as number[]]))
  const bodies = new Set<string>()
  for (let attempt = 0; attempt < attempts; attempt++) {
    for (const [who, accounts] of subjects) {
      const started = performance.now()
      const answer = await login(registry, accounts[attempt % groups]?.email ?? '', `${password}!`)
      bodies.add(`${answer.status} ${await answer.text()}`)
      times.get(who)?.push(performance.now() - started)
    }
  }
  if (bodies.size !== 1) throw new Error(`Refusals differ: ${[...bodies].join(' | ')}`)
  return times
}

/** Measures health checks during logins. Sends a new one every few milliseconds, whether or not the previous one has completed. */
async function healthDuring(registry: Registry, parallel: number): Promise<number[]> {
  const people = await Promise.all(Array.from({ length: parallel }, () => account(registry)))
  const state = { isOver: false }
  const logins = Promise.all(people.map(({ email, password: own }) => login(registry, email, own).then(requireOk))).finally(
    () => (state.isOver = true),
  )
  const checks: Promise<number>[] = []
  while (!state.isOver) {
    checks.push(timeHealth(registry))
    await sleep(10)
  }
  await logins
  return Promise.all(checks)
}

async function timeHealth({ url }: Registry): Promise<number> {
  const started = performance.now()
  const answer = await fetch(`${url}/api/v1/health`)
  await answer.arrayBuffer()
  requireOk(answer)
  return performance.now() - started
}

/** Sends a login from a new client address, to stay below the rate limit per address. */
const login = ({ url }: Registry, email: string, given: string): Promise<Response> =>
  fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { ...headers, 'x-forwarded-for': `100.64.${Math.floor(++asked / 250)}.${asked % 250}` },
    body: JSON.stringify({ email, password: given }),
  })

async function account({ url, token }: Registry, mode = 'password'): Promise<Account & { password: string }> {
  const body = JSON.stringify({ email: `person-${++made}@example.com`, displayName: `Person ${made}`, mode })
  const answer = await fetch(`${url}/api/admin/users`, { method: 'POST', headers: { ...headers, authorization: `Bearer ${token}` }, body })
  requireOk(answer)
  const { generatedPassword, ...user } = (await answer.json()) as Account & { generatedPassword?: string }
  return { ...user, password: generatedPassword ?? '' }
}

async function disabledAccount(registry: Registry): Promise<Account> {
  const person = await account(registry)
  const request = { method: 'PUT', headers: { ...headers, authorization: `Bearer ${registry.token}` }, body: '{"isActive": false}' }
  requireOk(await fetch(`${registry.url}/api/admin/users/${person.userId}`, request))
  return person
}

let made = 0
let asked = 0

function requireOk({ ok, url, status }: Response): void {
  if (!ok) throw new Error(`${url}: ${status}`)
}

const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

function row(what: string, ours: number, theirs: number, atMost: number): Row {
  return { what, snug: `${ours.toFixed(1)} ms`, baseline: `${theirs.toFixed(1)} ms`, ratio: ours / theirs, bound: { atMost }, cpu: '' }
}
