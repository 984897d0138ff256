import { getPriority, setPriority } from 'node:os'

/**
 * Lowers the priority of the calling thread, so that requests come before what takes long. Linux has a priority for each thread; elsewhere
 * it would be the whole process's, which stays as it is.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  // Whoever starts the server with a low priority of its own may not raise it.
  const priority = Math.min(getPriority() + 10, 19)
  try {
    setPriority(priority)
  } catch {
    // Where even this is forbidden, the thread competes like every other.
  }
}
