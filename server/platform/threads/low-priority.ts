import { getPriority, setPriority } from 'node:os'

/**
 * Lowers the priority of the calling thread below that of requests, for background work. With the default of 10, the thread gets a tenth of the CPU
 * time of other programs on a busy machine. Threads that users wait for use a smaller value. Only Linux has priorities per thread; on other systems,
 * where the whole process would be affected, nothing is changed.
 */
export function lowerPriority(by = 10): void {
  if (process.platform !== 'linux') return
  // Relative to the current priority, because a process that was started with a low priority may not raise it.
  const priority = Math.min(getPriority() + by, 19)
  try {
    setPriority(priority)
  } catch {
    // If lowering the priority is forbidden, the thread keeps its priority.
  }
}
