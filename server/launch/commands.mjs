import { ensureConsole, ensureServer } from './build.mjs'
import { runBuilt } from './built.mjs'
import { makeEnvironmentFile } from './environment.mjs'
import { compileCache, nodePath, run } from './process.mjs'

export { build } from './build.mjs'

// What `npm run lint` holds the sources to, cheapest first.
const checks = {
  format: ['oxfmt', '--check'],
  // Tells what the compiler would, too. Types of the console need its templates, which vue-tsc reads.
  'lint and types': ['oxlint', '--type-aware', '--type-check', '--deny-warnings', 'server', 'test', 'mikro-orm.config.ts'],
  'lint of the console': ['oxlint', '--type-aware', '--deny-warnings', 'web'],
  templates: ['eslint', '--config', 'web/eslint.config.js', '--max-warnings', '0', '--no-error-on-unmatched-pattern', 'web/**/*.vue'],
  'console types': ['vue-tsc', '--project', 'web'],
  'unused code': ['knip'],
  'code that only tests use': ['knip', '--production', '--include', 'files,exports,types,enumMembers'],
}

/** All tests, or those that vitest's arguments choose. */
export async function test(args) {
  await ensureConsole() // the browser tests use it
  await ensureServer() // and those that kill whole processes run this one
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...args]
  return run(nodePath(), vitest, { NODE_COMPILE_CACHE: compileCache }) // each process of the tests loads the whole server
}

/** Real faults against the built server, at full length; prints what came of each. Vitest's arguments choose some. */
export async function faults(args) {
  await ensureConsole()
  await ensureServer()
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--project',
    'faults',
    '--project',
    'measured',
    ...args,
  ]
  return run(nodePath(), vitest, { FAULTS: 'full' })
}

/** Every check of the sources, even after one failed: all faults are worth knowing at once. */
export async function lint() {
  await ensureConsole() // makes the types of the console's operations
  const failed = []
  const waiting = Object.entries(checks)
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [name, [program, ...args]] = next
      const started = Date.now()
      const code = await run(program, args)
      console.log(`${code === 0 ? 'ok    ' : 'failed'} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`)
      if (code !== 0) failed.push(name)
    }
  }
  await Promise.all([work(), work()]) // most of them use one core
  if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}.`)
  return failed.length > 0 ? 1 : 0
}

/** What a change must pass. The tests come last, so that their tally ends the output. */
export async function check(args) {
  const linted = await lint()
  const tested = await test(args)
  return linted || tested
}

/** Rewrites the sources in the house format. */
export function format() {
  return run('oxfmt', ['--write'])
}

/** The API, restarted on changes, behind vite's server, which shows changes of the console at once. */
export async function dev() {
  makeEnvironmentFile()
  const url = 'http://localhost:5173' // cookies, origin checks and links must fit the address in the browser
  const settings = '--env-file-if-exists=.env'
  const api = run(nodePath(), [settings, '--watch', '--watch-preserve-output', 'server/main.ts'], { SERVER_URL: url })
  const vite = run(nodePath(), [settings, 'node_modules/vite/bin/vite.js', 'web'])
  const code = await Promise.race([api, vite])
  process.emit('SIGTERM', 'SIGTERM') // passed on to the other one
  await Promise.all([api, vite])
  return code
}

/** Makes what is copied to machines that have Node and nothing else: see package.ts. */
export async function makePackage(args) {
  await ensureConsole()
  await ensureServer()
  return run(nodePath(), ['server/launch/package.ts', ...args])
}

/** What the operator does without the console: see server/admin. */
export async function admin(args) {
  await ensureServer() // built, a command is there in a tenth of the time
  return runBuilt('admin', args)
}

/** Measurements; not part of the tests. */
export function bench(args) {
  return run(nodePath(), ['test/bench/run.ts', ...args])
}

/** Prints the GraphQL schema that the code makes. */
export function schema(args) {
  return run(nodePath(), ['server/graphql/print-schema.ts', ...args])
}

/** Writes an empty migration for each database. */
export function migration(args) {
  return run(nodePath(), ['server/db/schema/new-migration.ts', ...args])
}

/** Writes the table of settings into web/help/configuration.md. */
export function configTable() {
  return run(nodePath(), ['server/config/print-table.ts'])
}
