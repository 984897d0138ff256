import module from 'node:module'
import { canReadEnvironmentFile, hasEnvironmentFile, loadEnvironmentFile } from './environment.mjs'
import { compileCache, isCapable, nodePath, run } from './process.mjs'

/**
 * Runs a program of server/dist in this process if its Node version suffices, which saves a process. Otherwise, runs a child process with the same V8
 * options as the start script in package.json: a heap that is collected before it doubles; one GC thread, since four would compete with requests; and
 * one malloc arena, since arenas of other threads would keep the memory used for compiling. Returns the exit code of a child process.
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
  await import(`../../dist/${program}.js`)
}
