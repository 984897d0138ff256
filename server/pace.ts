/** Long work of requests goes on for so long at a time, and then lets others in. */
const sliceMs = 8

const waiting: (() => void)[] = []
let sliceStart = performance.now()

/** Whether long work went on for so long that others should be let in. */
export const isSliceOver = (): boolean => performance.now() - sliceStart > sliceMs

/**
 * Waits for the next turn. In between the server answers whoever else sent something; of several that wait, one goes on per round, so that
 * many long requests hold up the others no more than one.
 */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(goOn)
  })
}

function goOn(): void {
  sliceStart = performance.now()
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(goOn)
}
