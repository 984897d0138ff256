import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageArchive } from '../support/archive.ts'
import { PubClient } from '../support/pub-client.ts'
import { nextPort, type Server, startServer } from './processes.ts'

/** Root folder of the checkout under test. */
export const checkout = resolve(import.meta.dirname, '../..')

/** Server after setup, with a token of its owner. */
export type Registry = Server & { token: string; client: PubClient }

/** Returns the settings of a server with its data in `folder`. All other settings have their defaults, so requests are logged. */
export function settings(folder: string, port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`
  return {
    SERVER_URL: url,
    LISTEN_PORT: String(port),
    HOST: '127.0.0.1',
    DATA_DIR: join(folder, 'data'),
    JWT_SECRET: randomBytes(32).toString('hex'),
    // Analyses would distort the measurements.
    SCORING_ENABLED: 'false',
  }
}

/** Starts the built server with the same options as `npm start`. */
export const startCommand = [join(checkout, 'server/platform/launch/snug.mjs'), 'start']

/** Starts the server with an empty database, writes its output to a file, and creates an owner and a token. */
export async function startRegistry(folder: string, variables: Record<string, string> = {}): Promise<Registry> {
  const env: Record<string, string> = { ...settings(folder, nextPort()), ...variables }
  const address = env.SERVER_URL ?? ''
  const server = await startServer({ command: startCommand, url: `${address}/api/v1/health`, folder, name: 'snug', cwd: checkout, env })
  const token = await setUp(address, server.output)
  return { ...server, url: address, token, client: new PubClient({ hostedUrl: address, address, token }) }
}

/** Returns the archive of a typical version: a README, a few dependencies, and `bytes` of incompressible data. */
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
  const csrf = cookies.find((cookie) => /csrf[^=]*=/.test(cookie))?.split('=')[1] ?? ''
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
