import { mkdirSync } from 'node:fs'
import { packageArchive } from '../support/archive.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { PubClient } from '../support/pub-client.ts'
import { model, popular } from './copy-index.ts'
import { fillRegistry } from './fill-registry.ts'
import { nextPort, startServer, stopServer } from './processes.ts'
import { checkout, type Registry, settings, startCommand, startRegistry } from './registry.ts'

export const backends = ['sqlite', 'postgres'] as const
export type Backend = (typeof backends)[number]

/** Filled server that is stopped. Its database server is running. */
export type Stock = {
  backend: Backend
  packages: number
  folder: string
  env: Record<string, string>
  token: string
  end: () => Promise<void>
}

/** Durability settings of a production PostgreSQL server. Cache sizes keep their defaults. */
const durable = { autovacuum: 'on', fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on', max_wal_size: '4GB' }

type Size = { packages: number; versions: number }

/** Creates a server with this number of packages and versions of each, in a folder. `url` names an empty database to use for PostgreSQL. */
export async function makeStock(folder: string, backend: Backend, { packages, versions }: Size, url?: string): Promise<Stock> {
  mkdirSync(folder)
  const postgres = backend === 'sqlite' ? null : url === undefined ? await startPostgres(durable) : { url, stop: async () => {} }
  const env = { ...settings(folder, nextPort()), ...(postgres && { DB_BACKEND: 'postgres', POSTGRES_URL: postgres.url }) }
  const registry = await startRegistry(folder, env)
  await registry.client.publish(await packageArchive({ name: popular, version: '1.0.0' }))
  for (let patch = 0; patch < versions; patch++) await registry.client.publish(await modelArchive(patch, registry.url))
  await stopServer(registry)
  await fillRegistry(env, packages, versions)
  return { backend, packages, folder, env, token: registry.token, end: async () => postgres?.stop() }
}

/** Starts the server with its data and waits until it is ready. */
export async function openStock({ env, folder, token }: Stock): Promise<Registry> {
  const address = env.SERVER_URL ?? ''
  const server = await startServer({ command: startCommand, url: `${address}/readyz`, folder, name: 'snug', cwd: checkout, env })
  return { ...server, url: address, token, client: new PubClient({ hostedUrl: address, address, token }) }
}

/** Returns the archive of a typical version: four dependencies, a pubspec of half a kilobyte, a README of two kilobytes. */
function modelArchive(patch: number, hosted: string): Promise<Buffer> {
  const readme = `# ${model}\n\n${'It fetches, keeps and shows what a team needs from day to day.\n'.repeat(30)}`
  return packageArchive({ name: model, version: `1.0.${patch}`, pubspec: pubspecOf(hosted), files: { 'README.md': readme } })
}

const pubspecOf = (hosted: string) => `homepage: https://example.com/packages
repository: https://git.example.com/team/packages
topics: [network, storage, widgets]
dependencies:
  http: ^1.2.2
  meta: ^1.15.0
  ${popular}:
    hosted: ${hosted}
    version: ^1.0.0
dev_dependencies:
  test: ^1.25.8
`
