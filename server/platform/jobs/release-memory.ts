import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns memory used at startup to the operating system. A third of it is garbage after loading modules, and V8 keeps a grown heap. Blocks for about
 * 100 ms, so it runs after the first requests have been answered.
 */
export function releaseStartupMemory(afterMs = 1000): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc') // the only way to expose `gc` at runtime
    const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
    collect({ type: 'major', flavor: 'last-resort' })
  }, afterMs).unref()
}
