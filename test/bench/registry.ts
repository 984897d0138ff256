import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import packageFile from '../../package.json' with { type: 'json' }
import { packageArchive } from '../support/archive.ts'
import { PubClient } from '../support/pub-client.ts'
import { nextPort, type Server, startServer } from './processes.ts'

/** The checkout that is measured. */
export const checkout = resolve(import.meta.dirname, '../..')

/** A server that is set up, with the token of its owner. */
export type Registry = Server & { token: string; client: PubClient }

/** The settings of a server whose data lie below `folder`. Everything else is as by default, so requests are logged. */
export function settings(folder: string, port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`
  return {
    SERVER_URL: url,
    LISTEN_PORT: String(port),
    HOST: '127.0.0.1',
    DATA_DIR: join(folder, 'data'),
    JWT_SECRET: randomBytes(32).toString('hex'),
    // What is measured here is not the analysis.
    SCORING_ENABLED: 'false',
  }
}

/** What `npm start` runs. */
export const startCommand = ['sh', '-c', packageFile.scripts.start]

/** Starts the real server with an empty database, its output going to a file, and makes an owner and a token. */
export async function startRegistry(folder: string, variables: Record<string, string> = {}): Promise<Registry> {
  const env: Record<string, string> = { ...settings(folder, nextPort()), ...variables }
  const address = env.SERVER_URL ?? ''
  const server = await startServer({ command: startCommand, url: `${address}/api/v1/health`, folder, name: 'snug', cwd: checkout, env })
  const token = await setUp(address, server.output)
  return { ...server, url: address, token, client: new PubClient({ hostedUrl: address, address, token }) }
}

/** A version of a package such as people publish: a README, a few dependencies, and `bytes` that do not compress. */
export function archiveOf(name: string, version: string, bytes = 4000): Promise<Buffer> {
  const files = { 'README.md': readme(name), 'assets/data.bin': randomBytes(bytes) }
  return packageArchive({ name, version, pubspec, files })
}

const pubspec = `homepage: https://example.com/packages
repository: https://git.example.com/team/packages
topics: [network, storage, widgets]
dependencies:
  collection: ^1.19.0
  http: ^1.2.2
  meta: ^1.15.0
  path: ^1.9.0
dev_dependencies:
  lints: ^5.0.0
  test: ^1.25.8
`

const readme = (name: string) =>
  `# ${name}\n\n${'This package fetches, keeps and shows what a team needs from day to day.\n\n```dart\nfinal answer = await client.get(address);\n```\n\n'.repeat(12)}`

async function setUp(address: string, output: string): Promise<string> {
  const readCode = () => /Setup code: (\S+)/.exec(readFileSync(output, 'utf8'))?.[1]
  let code = readCode()
  for (; code === undefined; code = readCode()) await sleep(10)
  const person = { email: 'owner@example.com', displayName: 'Olive Owner', password: 'correct horse battery' }
  const { setupToken } = (await (await post(`${address}/api/setup/verify`, { code })).json()) as { setupToken: string }
  await post(`${address}/api/setup/complete`, { ...person, setupToken })
  const session = await post(`${address}/api/auth/login`, person)
  const cookies = session.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0] ?? '')
  const csrf = cookies.find((cookie) => cookie.includes('csrf='))?.split('=')[1] ?? ''
  const made = await post(
    `${address}/api/auth/keys`,
    { name: 'bench', scopes: ['admin'] },
    { cookie: cookies.join('; '), 'x-csrf-token': csrf },
  )
  return ((await made.json()) as { secret: string }).secret
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer
}
