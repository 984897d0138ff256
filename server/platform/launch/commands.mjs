import { ensureConsole, ensureServer } from './build.mjs'
import { runBuilt } from './built.mjs'
import { makeEnvironmentFile } from './environment.mjs'
import { compileCache, nodePath, run } from './process.mjs'

export { build } from './build.mjs'

// Checks of `npm run lint`, fastest first.
const checks = {
  format: ['oxfmt', '--check'],
  // Includes the compiler's type errors. Types of the console are checked by vue-tsc, which reads templates.
  'lint and types': ['oxlint', '--type-aware', '--type-check', '--deny-warnings', 'server', 'test', 'mikro-orm.config.ts'],
  'lint of the console': ['oxlint', '--type-aware', '--deny-warnings', 'web'],
  templates: ['eslint', '--config', 'web/eslint.config.js', '--max-warnings', '0', '--no-error-on-unmatched-pattern', 'web/**/*.vue'],
  'console types': ['vue-tsc', '--project', 'web'],
  'unused code': ['knip'],
  'code that only tests use': ['knip', '--production', '--include', 'files,exports,types,enumMembers'],
}

/** Runs all tests, or those selected by Vitest's arguments. */
export async function test(args) {
  await ensureConsole() // the browser tests use it
  await ensureServer() // the tests that kill whole processes use it
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...args]
  return run(nodePath(), vitest, { NODE_COMPILE_CACHE: compileCache }) // every test process loads the whole server
}

/** Runs the fault tests against the built server, at full length, or those selected by Vitest's arguments. Prints their results. */
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

/** Runs all source checks, also after a failure, to report all errors. */
export async function lint() {
  await ensureConsole() // generates the types of the console's operations
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
  await Promise.all([work(), work()]) // two at a time, because most checks use one core
  if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}.`)
  return failed.length > 0 ? 1 : 0
}

/** Runs everything that CI requires. Tests run last, so that their summary ends the output. */
export async function check(args) {
  const linted = await lint()
  const tested = await test(args)
  return linted || tested
}

/** Formats the sources. */
export function format() {
  return run('oxfmt', ['--write'])
}

/** Runs the API, restarted on changes, behind Vite's development server, which updates the console on changes. */
export async function dev() {
  makeEnvironmentFile()
  const url = 'http://localhost:5173' // cookies, origin checks and links must match the URL in the browser
  const settings = '--env-file-if-exists=.env'
  const api = run(nodePath(), [settings, '--watch', '--watch-preserve-output', 'server/main.ts'], { SERVER_URL: url })
  const vite = run(nodePath(), [settings, 'node_modules/vite/bin/vite.js', 'web'])
  const code = await Promise.race([api, vite])
  process.emit('SIGTERM', 'SIGTERM') // forwarded to the other process
  await Promise.all([api, vite])
  return code
}

/** Builds the package for machines that only have Node: see package.ts. */
export async function makePackage(args) {
  await ensureConsole()
  await ensureServer()
  return run(nodePath(), ['server/platform/launch/package.ts', ...args])
}

/** Runs an administration command: see server/admin. */
export async function admin(args) {
  await ensureServer() // the build starts ten times faster than the sources
  return runBuilt('admin', args)
}

/** Runs the benchmarks, which are not part of the tests. */
export function bench(args) {
  return run(nodePath(), ['test/bench/run.ts', ...args])
}

/** Writes schema.graphql from the code. */
export function schema(args) {
  return run(nodePath(), ['server/platform/graphql/print-schema.ts', ...args])
}

/** Creates an empty migration for each database. */
export function migration(args) {
  return run(nodePath(), ['server/platform/db/schema/new-migration.ts', ...args])
}

/** Writes the table of settings into web/help/configuration.md. */
export function configTable() {
  return run(nodePath(), ['server/platform/config/print-table.ts'])
}

/** Prints where a GraphQL field or a REST endpoint is defined. */
export function where(args) {
  return run(nodePath(), ['server/platform/launch/where.ts', ...args])
}
