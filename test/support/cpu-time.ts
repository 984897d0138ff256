import { setImmediate as nextTurn } from 'node:timers/promises'

/** Returns the CPU time in milliseconds that this process spends on `work`. Other processes hardly change it, unlike the elapsed time. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * Returns by which factor the CPU time of `work` grows when its input is four times as large: 4 if the cost is linear, 16 if it is quadratic.
 * Compares the smallest of five measurements, because a busy machine only adds time. Both sizes are measured in turn, so that a busy moment meets both.
 */
export function growthOf<Input>(work: (input: Input) => unknown, small: Input, fourTimesAsLarge: Input): number {
  const times = timesUntilMeasurable(() => work(small))
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as [number, number]
  for (let round = 0; round < 5; round++) {
    least[0] = Math.min(
      least[0],
      threadMsOf(() => repeat(times, () => work(small))),
    )
    least[1] = Math.min(
      least[1],
      threadMsOf(() => repeat(times, () => work(fourTimesAsLarge))),
    )
  }
  return least[1] / least[0]
}

/** Returns how often to repeat work so that it takes 50 ms. The kernel counts CPU time in steps of several milliseconds. */
function timesUntilMeasurable(work: () => unknown): number {
  let times = 1
  while (threadMsOf(() => repeat(times, work)) < 50) times *= 2
  return times
}

function repeat(times: number, work: () => unknown): void {
  for (let left = times; left > 0; left--) work()
}

function threadMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** Returns the longest time that the event loop was blocked until `work` settles, in milliseconds of CPU time of this thread. */
export async function longestTurnMs(work: Promise<unknown>): Promise<number> {
  // A single handler. The handlers of one for each turn would all run in the last turn, which would be measured.
  const state = { isSettled: false }
  const settle = () => void (state.isSettled = true)
  work.then(settle, settle)
  let longest = 0
  while (!state.isSettled) {
    const before = process.threadCpuUsage()
    await nextTurn()
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
  }
  return longest
}
