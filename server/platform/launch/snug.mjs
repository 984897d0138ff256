#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=8 --heap-growing-percent=50 --v8-pool-size=1
// Runs the build of the server, in a package (see package.ts) or a checkout. Requires only Node. Settings (.env) and data are read from the working
// directory, so an upgrade only replaces the package folder. The first line sets the same options as server/launch.mjs, for systems that run this
// file directly.
import { readFileSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { fail, loadEnvironmentFile, makeEnvironmentFile, requireNode, whenNpmEnds } from './environment.mjs'

const known = { start, demo, admin, ready, version, help, '--version': version, '--help': help }
const usage = `Usage: snug [command]

  start            Starts the server with the settings of the environment and of .env in the current folder (default).
  demo             Fills the empty server with the packages of a made-up company.
  admin <command>  Runs an administration command. See "snug admin help".
  ready            Checks whether the running server can serve requests. Exit code 0 if it can, otherwise 1.
  version          Prints the version.
  help             Prints this help.`

const [name = 'start', ...args] = process.argv.slice(2)
if (!Object.hasOwn(known, name)) fail(`Unknown command "${name}".\n\n${usage}`, 64)
requireNode()
await known[name](args)

async function start() {
  // Threads for files, compression and DNS. A disk that does not respond blocks up to six of them (see platform/blobs/disk-calls.ts).
  process.env.UV_THREADPOOL_SIZE ??= '8'
  makeEnvironmentFile()
  loadEnvironmentFile()
  enableCompileCache()
  whenNpmEnds(() => process.kill(process.pid, 'SIGTERM'))
  await import('../../dist/main.js')
}

async function demo() {
  makeEnvironmentFile()
  loadEnvironmentFile()
  await import('../../dist/demo.js')
}

async function admin(given) {
  loadEnvironmentFile()
  enableCompileCache()
  process.argv.splice(2, Infinity, ...given)
  await import('../../dist/admin.js')
}

/** Halves the startup time. If the folder is not writable, startup is slower. */
function enableCompileCache() {
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE || fileURLToPath(new URL('../../../node_modules/.cache/snug', import.meta.url)))
}

async function ready() {
  loadEnvironmentFile()
  const { HOST = '', LISTEN_PORT } = process.env
  const host = ['', '0.0.0.0', '::'].includes(HOST) ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST
  const url = `http://${host}:${LISTEN_PORT || 8080}/readyz`
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(4000) })
    console.log(await answer.text())
    if (!answer.ok) process.exitCode = 1
  } catch (error) {
    fail(`No response from ${url}: ${(error.cause ?? error).message}`)
  }
}

function version() {
  console.log(JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version)
}

function help() {
  console.log(usage)
}
