let ending: Promise<void> | null = null

/**
 * The end of this turn of the event loop, when everything that was ready in it has been looked at. Answers that wait for it are sent one right after
 * another, which wakes a client that waits for several of them once. To wake it for each takes as long as to find out what to send.
 */
export const turnEnd = (): Promise<void> => (ending ??= new Promise((resolve) => void setImmediate(end, resolve)))

function end(resolve: () => void): void {
  ending = null
  resolve()
}
