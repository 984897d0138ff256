import { createHook } from 'node:async_hooks'

/** Milliseconds that long-running request work may run before it yields. */
const sliceMs = 8
/** Duration of an event loop iteration in milliseconds above which other work was done in it. */
const idleRoundMs = 0.1
/** Maximum milliseconds that work waits for others between two slices. */
const maxWaitMs = 40

const waiting: (() => void)[] = []
let sliceStart = performance.now()
let waitStart = 0
let roundStart = 0

/** Returns whether the current slice has been used up, so that the caller should yield. */
export const isSliceOver = (): boolean => performance.now() - sliceStart > sliceMs

/**
 * Yields to the event loop and resolves when the next slice begins: after several iterations while other work is pending, because an iteration
 * accepts at most one connection. Waiters resume one at a time, so many long requests delay other work no more than one.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(beginWait)
  })
}

function beginWait(): void {
  waitStart = roundStart = performance.now()
  setImmediate(resume)
}

function resume(): void {
  const now = performance.now()
  const areOthersBusy = now - roundStart > idleRoundMs
  roundStart = now
  if (areOthersBusy && now - waitStart < maxWaitMs) return void setImmediate(resume)
  sliceStart = now
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(beginWait)
}

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
