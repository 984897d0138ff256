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
export function nextSlice(): Promise<void> {
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
