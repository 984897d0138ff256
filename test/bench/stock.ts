import { mkdirSync } from 'node:fs'
import { packageArchive } from '../support/archive.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { PubClient } from '../support/pub-client.ts'
import { model } from './copy-index.ts'
import { fillRegistry, versionsEach } from './fill-registry.ts'
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

/** Creates a server with this number of packages, each with twenty versions, in a folder. */
export async function makeStock(folder: string, backend: Backend, packages: number): Promise<Stock> {
  mkdirSync(folder)
  const postgres = backend === 'postgres' ? await startPostgres(durable) : null
  const env = { ...settings(folder, nextPort()), ...(postgres && { DB_BACKEND: 'postgres', POSTGRES_URL: postgres.url }) }
  const registry = await startRegistry(folder, env)
  for (let patch = 0; patch < versionsEach; patch++) await registry.client.publish(await modelArchive(patch))
  await stopServer(registry)
  await fillRegistry(env, packages)
  return { backend, packages, folder, env, token: registry.token, end: async () => postgres?.stop() }
}

/** Starts the server with its data and waits until it is ready. */
export async function openStock({ env, folder, token }: Stock): Promise<Registry> {
  const address = env.SERVER_URL ?? ''
  const server = await startServer({ command: startCommand, url: `${address}/readyz`, folder, name: 'snug', cwd: checkout, env })
  return { ...server, url: address, token, client: new PubClient({ hostedUrl: address, address, token }) }
}

/** Returns the archive of a typical version: three dependencies, a pubspec of half a kilobyte, a README of two kilobytes. */
function modelArchive(patch: number): Promise<Buffer> {
  const readme = `# ${model}\n\n${'It fetches, keeps and shows what a team needs from day to day.\n'.repeat(30)}`
  return packageArchive({ name: model, version: `1.0.${patch}`, pubspec, files: { 'README.md': readme } })
}

const pubspec = `homepage: https://example.com/packages
repository: https://git.example.com/team/packages
topics: [network, storage, widgets]
dependencies:
  http: ^1.2.2
  meta: ^1.15.0
dev_dependencies:
  test: ^1.25.8
`
