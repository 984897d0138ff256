import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { nextPort, type Server, startServer } from './processes.ts'

const version = '6.10.4'

/** Overrides a dependency of Verdaccio on a dist-tag that some npm mirrors lack. */
const overrides = { 'node-fetch': '2.7.0' }

/** Verdaccio server with the token of an account. */
export type Verdaccio = Server & { token: string }

/**
 * Starts Verdaccio, an npm registry, with an empty storage in `folder`. On first use, it is installed into a cache folder.
 * @throws Error if the npm registry cannot be reached.
 */
export async function startVerdaccio(folder: string): Promise<Verdaccio> {
  const program = join(installed(), 'node_modules/verdaccio/bin/verdaccio')
  const url = `http://127.0.0.1:${nextPort()}`
  const config = join(folder, 'verdaccio.yaml')
  writeFileSync(config, settings(folder))
  const command = [process.execPath, program, '--config', config, '--listen', url]
  const server = await startServer({ command, url: `${url}/-/ping`, folder, name: 'verdaccio' })
  return { ...server, url, token: await makeAccount(url) }
}

/** Publishes a version as `npm publish` does. */
export async function publishToVerdaccio({ url, token }: Verdaccio, name: string, number: string, archive: Buffer): Promise<void> {
  const file = `${name}-${number}.tgz`
  const manifest = { name, version: number, dist: { tarball: `${url}/${name}/-/${file}` } }
  await put(`${url}/${name}`, token, {
    _id: name,
    name,
    'dist-tags': { latest: number },
    versions: { [number]: manifest },
    _attachments: { [file]: { content_type: 'application/octet-stream', data: archive.toString('base64'), length: archive.length } },
  })
}

/** Returns the folder in which Verdaccio is installed, and installs it if necessary. The project's dependencies do not include it. */
function installed(): string {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'snug-bench', `verdaccio-${version}`)
  if (existsSync(join(folder, 'installed'))) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { verdaccio: version }, overrides }))
  console.error(`Installing Verdaccio ${version} into ${folder}…`)
  try {
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 2, 2],
    })
  } catch (error) {
    throw new Error(`Verdaccio ${version} could not be installed: see npm above. The comparison needs npm's registry, once.`, {
      cause: error,
    })
  }
  writeFileSync(join(folder, 'installed'), '')
  return folder
}

/** Configures signed tokens, because Verdaccio's other kind of token requires hashing a password for every request. */
const settings = (folder: string) => `storage: ${join(folder, 'verdaccio')}
auth: { htpasswd: { file: ${join(folder, 'htpasswd')}, max_users: 10 } }
packages: { '**': { access: $all, publish: $authenticated } }
security: { api: { jwt: { sign: { expiresIn: 1d } } } }
web: { enable: false }
max_body_size: 100mb
log: { type: stdout, format: json, level: http }
`

async function makeAccount(url: string): Promise<string> {
  const person = { name: 'bench', password: randomBytes(12).toString('hex') }
  const { token } = (await put(`${url}/-/user/org.couchdb.user:bench`, undefined, person)) as { token: string }
  return token
}

async function put(url: string, token: string | undefined, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  const answer = await fetch(url, { method: 'PUT', body: JSON.stringify(body), headers })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
