import { setTimeout as sleep } from 'node:timers/promises'
import { graphqlQueries } from './request-list.ts'
import { residentMegabytes, stopServer } from './processes.ts'
import type { Registry } from './registry.ts'
import { type Options, reopenStock, untilQuiet } from './requests.ts'
import { type Backend, openStock } from './stock.ts'

/** Maximum resident memory of the server's main process after all reads, in MB. */
const mostMegabytes = 250
const pages = 400

/** Reads every listing, 400 package pages and 400 searches from filled servers. Returns a table of the server's resident memory after each. */
export async function measureMemory(folder: string, options: Options): Promise<string> {
  const columns: [string, number[]][] = []
  for (const backend of options.database.split(',') as Backend[]) {
    const packages = Number(options.packages)
    const stock = await reopenStock(folder, backend, packages, options)
    const registry = await openStock(stock)
    try {
      await untilQuiet(registry)
      columns.push([`${backend}, ${packages.toLocaleString('en')} × ${options.versions}`, await readAll(registry)])
    } finally {
      await stopServer(registry)
      await stock.end()
    }
  }
  const steps = ['Idle', 'After reading every listing', `After ${pages} package pages`, `After ${pages} searches`]
  const lines = steps.map((step, index) => [step, ...columns.map(([, found]) => Math.round(found[index] ?? 0))])
  const head = ['Memory, MB', ...columns.map(([name]) => name)]
  if (columns.some(([, found]) => (found.at(-1) ?? 0) > mostMegabytes)) process.exitCode = 1
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

export async function readAll(registry: Registry): Promise<number[]> {
  const { packages: names } = (await (await get(registry, '/api/package-names')).json()) as { packages: string[] }
  const found = [residentMegabytes(registry.pid)]
  await eachOf(names, (name) => get(registry, `/api/packages/${name}`))
  found.push(residentMegabytes(registry.pid))
  const some = names.filter((_, index) => index % Math.max(1, Math.floor(names.length / pages)) === 0).slice(0, pages)
  await eachOf(some, (name) => readPage(registry, name))
  found.push(residentMegabytes(registry.pid))
  await eachOf(some, (name) => get(registry, `/api/search?q=${encodeURIComponent(name.replaceAll('_', ' '))}`))
  found.push(residentMegabytes(registry.pid))
  return found
}

/** Reads what the page of a package in the console reads. */
async function readPage(registry: Registry, name: string): Promise<void> {
  const latest = `/api/packages/${name}`
  const query = (graphqlQueries['package page'] ?? '').replace(/name: "\w+"/, `name: "${name}"`)
  await get(registry, `/packages/${name}`)
  await get(registry, '/graphql', query)
  for (const path of ['score', 'advisories', 'downloads', 'dependents', 'versions/1.0.0/content', 'versions/1.0.0/dependencies'])
    await get(registry, `${latest}/${path}`)
}

/** Handles items with eight concurrent requests. */
async function eachOf(items: readonly string[], handle: (item: string) => Promise<unknown>): Promise<void> {
  const waiting = [...items]
  const work = async () => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await handle(item)
  }
  await Promise.all(Array.from({ length: 8 }, work))
}

async function get({ url, token }: Registry, path: string, query?: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip', 'content-type': 'application/json' }
  const answer = await fetch(url + path, query === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify({ query }) })
  const body = await answer.arrayBuffer()
  if (answer.status === 429) {
    await sleep(1000 * Number(answer.headers.get('retry-after') ?? 1))
    return get({ url, token } as Registry, path, query)
  }
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${Buffer.from(body).toString()}`)
  return new Response(body)
}
