import { createHook } from 'node:async_hooks'

/**
 * Keeps one `process.nextTick` object alive, and with it V8's hidden class for all of them. V8 discards a hidden class if no object of it survives a
 * few garbage collections, as on an idle server. Code optimized for the class is then discarded and does not regain its speed: a tick takes six times
 * as long, and each request causes several.
 */
export function keepTickClass(): void {
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') kept ??= resource
    },
  })
  hook.enable()
  process.nextTick(() => {})
  hook.disable()
}
let kept: object | undefined
