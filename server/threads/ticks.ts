import { createHook } from 'node:async_hooks'

/**
 * Keeps one object of `process.nextTick` for good, and so the hidden class of all of them. V8 forgets a class when no object of it is left at a
 * few collections in a row, as on a server at rest. What was compiled for the class is lost with it, and does not come back as fast as it was:
 * a tick takes six times as long from then on, and a request makes several.
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
