import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stopServer } from './processes.ts'
import { publishVersions } from './publishing.ts'
import { toRow } from './reading.ts'
import { type Registry, startRegistry } from './registry.ts'
import { measureInterleaved, type Subject } from './rounds.ts'
import type { Row } from './table.ts'

/** Packages that are published to the server and, under another name, mirrored by it. `bytes`: incompressible data per archive. */
const packages = [
  { name: 'own_few', versions: 20, bytes: 4000 },
  { name: 'own_many', versions: 200, bytes: 4000 },
  { name: 'own_small', versions: 1, bytes: 48_000 },
  { name: 'own_large', versions: 1, bytes: 5_000_000 },
]

/** Measures reads of mirrored packages from the cache and of own packages with the same content alternately. */
export async function mirrorRows(folder: string, { rounds, seconds }: { rounds: number; seconds: number }): Promise<Row[]> {
  const upstream = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const registry = await startRegistry(folder, { UPSTREAM_URL: url })
  try {
    for (const { name, versions, bytes } of packages) await publishVersions(registry, name, 0, versions, bytes)
    const subjects = comparisons(registry)
    // Fetches everything into the mirror.
    for (const { ours } of subjects) await fetchAs(registry, ours.path)
    const samples = await measureInterleaved(
      subjects.flatMap(({ ours, theirs }) => [ours, theirs]),
      rounds,
      seconds,
    )
    return subjects.map((comparison) => toRow(comparison, samples))
  } finally {
    await stopServer(registry)
    upstream.close()
  }

  /** Answers like an upstream server with the packages of the registry under other names. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const own = await fetchAs(registry, (request.url ?? '').replace('mirrored_', 'own_'))
    response.statusCode = own.status
    if (request.url?.startsWith('/api/archives/')) response.end(Buffer.from(await own.arrayBuffer()))
    else response.end((await own.text()).replaceAll('own_', 'mirrored_').replaceAll(registry.url, url))
  }
}

const fetchAs = ({ url, token }: Registry, path: string) => fetch(url + path, { headers: { authorization: `Bearer ${token}` } })

function comparisons(registry: Registry) {
  const credentials = { authorization: `Bearer ${registry.token}` }
  const of = (path: string): Subject => ({ server: registry, path, headers: { ...credentials, 'accept-encoding': 'gzip' } })
  const listing = (name: string) => `/api/packages/${name}`
  const archive = (name: string) => `/api/archives/${name}-1.0.0.tar.gz`
  return [
    { what: 'listing of 20 versions', path: listing('own_few') },
    { what: 'listing of 200 versions', path: listing('own_many') },
    { what: 'archive of 50 KB', path: archive('own_small') },
    { what: 'archive of 5 MB', path: archive('own_large') },
  ].map(({ what, path }) => ({
    what: `mirrored ${what} / own`,
    ours: of(`/mirror${path.replace('own_', 'mirrored_')}`),
    theirs: of(path),
    atLeast: 0.8,
  }))
}
