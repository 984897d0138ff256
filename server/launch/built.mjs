import module from 'node:module'
import { canReadEnvironmentFile, hasEnvironmentFile, loadEnvironmentFile } from './environment.mjs'
import { compileCache, isCapable, nodePath, run } from './process.mjs'

/**
 * Runs a program of server/dist in this process when it can: one process less to start, to signal and to keep in memory; gives its exit code, if
 * it has not set that itself. Otherwise it gets what the start script in package.json sets: a heap that is collected before it has doubled, by
 * one thread, since four of them would take turns with requests; and one arena, since each thread's own would keep what compiling took.
 */
export async function runBuilt(program, args = []) {
  const file = `server/dist/${program}.js`
  if (!isCapable()) {
    const options = ['--max-semi-space-size=8', '--heap-growing-percent=50', '--v8-pool-size=1']
    if (canReadEnvironmentFile) loadEnvironmentFile()
    else if (hasEnvironmentFile()) options.push('--env-file=.env')
    return run(nodePath(), [...options, file, ...args], { MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: compileCache })
  }
  loadEnvironmentFile()
  module.enableCompileCache(compileCache)
  process.argv.splice(2, Infinity, ...args)
  await import(`../dist/${program}.js`)
}
