import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopServer } from './processes.ts'
import type { Registry } from './registry.ts'
import { graphqlQueries, restPaths } from './request-list.ts'
import { type Backend, makeStock, openStock, type Stock } from './stock.ts'

/** Maximum CPU time of the main thread for a request, in milliseconds. */
export const mostCpuMs = 20
const repetitions = 10

export type Options = {
  packages: string
  versions: string
  database: string
  postgres?: string | undefined
  folder?: string | undefined
  only?: string | undefined
}
type Cost = { cpu: number; took: number; bytes: number }
type Read = { name: string; path: string; query?: string }

const reads: Read[] = [
  ...restPaths.map((path) => ({ name: `GET ${path}`, path })),
  ...Object.entries(graphqlQueries).map(([name, query]) => ({ name, path: '/graphql', query })),
]

/** Fills servers and measures every read. Returns a table with a column per server. */
export async function measureRequests(folder: string, options: Options): Promise<string> {
  const servers: [string, Map<string, Cost | string>][] = []
  const chosen = reads.filter(({ name }) => new RegExp(options.only ?? '').test(name))
  for (const packages of options.packages.split(',').map(Number)) {
    for (const backend of options.database.split(',') as Backend[]) {
      const stock = await reopenStock(folder, backend, packages, options)
      try {
        servers.push([`${backend}, ${packages.toLocaleString('en')} × ${options.versions}`, await measureAll(stock, chosen)])
      } finally {
        await stock.end()
      }
    }
  }
  return render(servers, chosen)
}

/** Fills a server, or returns the server left in the folder by an earlier run. */
export async function reopenStock(
  folder: string,
  backend: Backend,
  packages: number,
  { versions, postgres, folder: kept }: Options,
): Promise<Stock> {
  const place = join(folder, `${backend}-${packages}-${versions}`)
  const note = join(place, 'stock.json')
  if (existsSync(note)) return { ...(JSON.parse(readFileSync(note, 'utf8')) as Stock), end: async () => {} }
  const stock = await makeStock(place, backend, { packages, versions: Number(versions) }, postgres)
  if (kept !== undefined) writeFileSync(note, JSON.stringify(stock))
  return stock
}

async function measureAll(stock: Stock, chosen: Read[]): Promise<Map<string, Cost | string>> {
  const env = { ...stock.env, UPSTREAM_URL: 'http://127.0.0.1:9', PUBLIC_PACKAGES_ENABLED: 'true', METRICS_TOKEN: stock.token }
  const registry = await openStock({ ...stock, env })
  const found = new Map<string, Cost | string>()
  try {
    await setPublic(registry)
    await untilQuiet(registry)
    for (const read of chosen) found.set(read.name, await measure(registry, read))
  } finally {
    await stopServer(registry)
  }
  return found
}

/** Waits until the background work of the start, such as indexing, has ended. */
export async function untilQuiet({ pid }: Registry): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    const before = mainThreadMs(pid)
    await sleep(1000)
    quiet = mainThreadMs(pid) - before < 20 ? quiet + 1 : 0
  }
}

/** Allows public packages, whose visibility costs additional conditions. */
async function setPublic({ url, token }: Registry): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(`${url}/api/admin/public-packages`, { method: 'PUT', headers, body: '{"enabled":true}' })
}

async function measure(registry: Registry, read: Read): Promise<Cost | string> {
  const { problem, retryAfter } = await send(registry, read)
  if (retryAfter !== undefined) await sleep(1000 * retryAfter)
  else if (problem !== undefined) return problem
  for (let count = 0; count < repetitions; count++) await send(registry, read)
  const before = mainThreadMs(registry.pid)
  const started = performance.now()
  let bytes = 0
  for (let count = 0; count < repetitions; count++) ({ bytes } = await send(registry, read))
  return { cpu: (mainThreadMs(registry.pid) - before) / repetitions, took: (performance.now() - started) / repetitions, bytes }
}

async function send({ url, token }: Registry, { path, query }: Read): Promise<{ bytes: number; problem?: string; retryAfter?: number }> {
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip', 'content-type': 'application/json' }
  const answer = await fetch(url + path, query === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify({ query }) })
  const text = await answer.text()
  const refused = answer.status !== 200 || text.startsWith('{"errors"')
  const retryAfter = answer.headers.get('retry-after')
  return {
    bytes: text.length,
    ...(retryAfter !== null && { retryAfter: Number(retryAfter) }),
    ...(refused && { problem: `${answer.status} ${text.slice(0, 200)}` }),
  }
}

/** Returns the CPU time of a process's main thread in milliseconds. */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

function render(servers: [string, Map<string, Cost | string>][], chosen: Read[]): string {
  const show = (cost: Cost | string | undefined) =>
    typeof cost === 'object' ? `${cost.cpu.toFixed(1)}${cost.cpu > mostCpuMs ? ' (!)' : ''}` : (cost ?? '')
  const head = ['CPU time, ms', ...servers.map(([name]) => name)]
  const lines = chosen.map(({ name }) => [`\`${name}\``, ...servers.map(([, found]) => show(found.get(name)))])
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
