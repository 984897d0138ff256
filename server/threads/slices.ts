/** Long work of requests goes on for so long at a time, and then lets others in. */
const sliceMs = 8
/** In a round of the event loop that takes longer, something was done for somebody else. */
const idleRoundMs = 0.1
/** So long at most the work waits for others between two slices. */
const maxWaitMs = 40

const waiting: (() => void)[] = []
let sliceStart = performance.now()
let waitStart = 0
let roundStart = 0

/** Whether long work went on for so long that others should be let in. */
export const isSliceOver = (): boolean => performance.now() - sliceStart > sliceMs

/**
 * Waits for the next turn. In between the server answers whoever else sent something: as long as there is something to do for them, because
 * a round of the event loop takes in no more than one new connection. Of several that wait, one goes on at a time, so that many long requests
 * hold up the others no more than one.
 */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(beginWait)
  })
}

/** Begins to measure here, after what went on before. */
function beginWait(): void {
  waitStart = roundStart = performance.now()
  setImmediate(goOn)
}

function goOn(): void {
  const now = performance.now()
  const areOthersBusy = now - roundStart > idleRoundMs
  roundStart = now
  if (areOthersBusy && now - waitStart < maxWaitMs) return void setImmediate(goOn)
  sliceStart = now
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(beginWait)
}
