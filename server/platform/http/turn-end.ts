let ending: Promise<void> | null = null

/**
 * Resolves at the end of the current turn of the event loop. Responses that await it are sent back to back, so a client with several pending
 * responses wakes up once. Waking a client for each response would take as long as producing it.
 */
export const turnEnd = (): Promise<void> => (ending ??= new Promise((resolve) => void setImmediate(end, resolve)))

function end(resolve: () => void): void {
  ending = null
  resolve()
}

const waiting: (() => void)[] = []

/**
 * Resolves for one caller per millisecond. Bulk transfers await it for each chunk, which leaves most of the time to requests, however many transfers
 * run. With chunks of 64 KiB, all of them together transfer up to 60 MB per second.
 */
export const ownTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setTimeout(nextTurn, 1)
  })

function nextTurn(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setTimeout(nextTurn, 1)
}
