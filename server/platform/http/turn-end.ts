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
