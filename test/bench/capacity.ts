import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { model } from './copy-index.ts'
import { generatePackages } from './generate-packages.ts'
import { residentMegabytes, stopServer } from './processes.ts'
import { archiveOf, checkout, type Registry } from './registry.ts'
import { median, ownLoad } from './rounds.ts'
import { backends, makeStock, openStock, type Stock } from './stock.ts'
import { wrkLoad } from './wrk.ts'

/** Measurements of one server by name. */
export type Capacity = Map<string, number>

/** Measures servers of these sizes on both databases, one after the other. Returns a table per database. */
export async function measureSizes(folder: string, sizes: number[]): Promise<string> {
  const tables: string[] = []
  for (const backend of backends) {
    const found: Capacity[] = []
    for (const packages of sizes) {
      const stock = await makeStock(join(folder, `${backend}-${packages}`), backend, { packages, versions: 20 })
      try {
        found.push(await measureCapacity(stock))
      } finally {
        await stock.end()
      }
    }
    tables.push(renderCapacity([backend, ...sizes.map((size) => `${size.toLocaleString('en')} packages`)], found))
  }
  return tables.join('\n\n')
}

/** Starts a filled server and measures it. The backup is measured last. */
export async function measureCapacity(stock: Stock): Promise<Capacity> {
  const found: Capacity = new Map()
  const started = performance.now()
  const registry = await openStock(stock)
  found.set('start, ms', performance.now() - started)
  try {
    await sleep(2000)
    found.set('memory at rest, MB', residentMegabytes(registry.pid))
    await measureReading(registry, found)
    await readEveryListing(registry)
    found.set('memory after every listing, MB', residentMegabytes(registry.pid))
    await measureRates(registry, found)
    await measurePublishing(registry, found)
    await measureOverview(registry, found)
    found.set('memory afterwards, MB', residentMegabytes(registry.pid))
    found.set('backup, s', (await timed(() => backUp(stock))) / 1000)
  } finally {
    await stopServer(registry)
  }
  return found
}

/** Renders a Markdown table with a row per measurement and a column per size. */
function renderCapacity(head: string[], found: Capacity[]): string {
  const show = (value = Number.NaN) => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
  const lines = [...(found[0]?.keys() ?? [])].map((what) => [what, ...found.map((one) => show(one.get(what)))])
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

const queries = ['json parser', 'oauth', 'barcode scanner', 'flutter', 'http client', 'is:public sdk:dart', 'bluetoth', 'dependency:http']

/** Measures reads of a single client that sends requests sequentially. */
async function measureReading(registry: Registry, found: Capacity): Promise<void> {
  const times = async (paths: string[]) => {
    const list: number[] = []
    for (const path of paths) list.push(await timed(() => get(registry, path)))
    return list
  }
  // The first generated packages are the same at every size.
  const listings = Array.from(generatePackages(200), ({ name }) => `/api/packages/${name}`)
  found.set('listing, not cached, ms', median(await times(listings)))
  found.set('listing, cached, ms', median(await times(listings)))
  const searches = queries.map((query) => `/api/search?q=${encodeURIComponent(query)}`)
  await times(searches)
  const again = await times([...searches, ...searches, ...searches])
  found.set('search, ms', median(again))
  found.set('slowest search, ms', Math.max(...again))
  found.set('first page of all packages, ms', median(await times(Array(5).fill('/api/packages'))))
  found.set('all names, ms', median(await times(Array(5).fill('/api/package-names'))))
}

/** Reads the listings of all packages with eight concurrent requests. */
async function readEveryListing(registry: Registry): Promise<void> {
  const { packages: names } = JSON.parse((await get(registry, '/api/package-names')).toString()) as { packages: string[] }
  const work = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await get(registry, `/api/packages/${name}`)
  }
  await Promise.all(Array.from({ length: 8 }, work))
}

/** Measures requests per second, with the number of connections of a single pub client. Each connection repeats the same request. */
async function measureRates(registry: Registry, found: Capacity): Promise<void> {
  const load = wrkLoad() ?? ownLoad()
  const headers = { authorization: `Bearer ${registry.token}`, 'accept-encoding': 'gzip' }
  const rateOf = async (path: string) => {
    const { requests, seconds } = await load.send({ server: registry, path, headers }, 5)
    return requests / seconds
  }
  const [first] = generatePackages(1)
  try {
    found.set('listings a second', await rateOf(`/api/packages/${first?.name}`))
    found.set('searches a second', await rateOf(`/api/search?q=${encodeURIComponent(queries[0] ?? '')}`))
    found.set('archives a second', await rateOf(`/api/archives/${model}-1.0.0.tar.gz`))
  } finally {
    load.end()
  }
}

async function measurePublishing({ client }: Registry, found: Capacity): Promise<void> {
  const [fresh, grown]: [number[], number[]] = [[], []]
  const series = Math.floor(Date.now() / 1000)
  for (let index = 0; index < 20; index++) {
    const [first, next] = [await archiveOf(`newcomer_${series}_${index}`, '1.0.0'), await archiveOf(model, `2.${series}.${index}`)]
    fresh.push(await timed(() => client.publish(first)))
    grown.push(await timed(() => client.publish(next)))
  }
  found.set('publish a new package, ms', median(fresh))
  found.set('publish another version, ms', median(grown))
  const archives = await Promise.all(Array.from({ length: 90 }, (_, index) => archiveOf(model, `3.${series}.${index}`)))
  const work = async () => {
    for (let archive = archives.pop(); archive; archive = archives.pop()) await client.publish(archive)
  }
  const took = await timed(() => Promise.all([work(), work(), work()]))
  found.set('versions published a second, three at once', 90 / (took / 1000))
}

async function measureOverview(registry: Registry, found: Capacity): Promise<void> {
  const overview = () => get(registry, '/api/admin/stats')
  found.set('overview, not cached, ms', await timed(overview))
  found.set('overview, cached, ms', await timed(overview))
  const { disk } = JSON.parse((await overview()).toString()) as { disk: { database: { bytes: number } } }
  found.set('database, MB', disk.database.bytes / 1e6)
}

async function get({ url, token }: Registry, path: string): Promise<Buffer> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' } })
  const body = Buffer.from(await answer.arrayBuffer())
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body.toString()}`)
  return body
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function backUp({ folder, env }: Stock): Promise<void> {
  const command = ['server/platform/launch/snug.mjs', 'admin', 'backup', join(folder, 'backups')]
  await promisify(execFile)(process.execPath, command, { cwd: checkout, env: { ...process.env, ...env } })
}
