import { getPriority, setPriority } from 'node:os'

/**
 * Lowers the priority of the calling thread below that of requests, for background work: by 10, it gets a tenth of the time that other programs
 * get on a busy machine. A caller that someone waits for lowers it less. Linux has a priority for each thread; elsewhere it would be the whole
 * process's, which stays as it is.
 */
export function lowerPriority(by = 10): void {
  if (process.platform !== 'linux') return
  // A server that was started with a low priority of its own may not raise it.
  const priority = Math.min(getPriority() + by, 19)
  try {
    setPriority(priority)
  } catch {
    // Where even this is forbidden, the thread competes like every other.
  }
}
