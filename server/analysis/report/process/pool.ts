import { type AnalysisProcess, type ProcessLimits, retireAfterCpuMs, startProcess } from './start.ts'

/** An analysis process and its accumulated usage. */
export type Worker = { process: AnalysisProcess; tasks: number; cpuMs: number; timer: NodeJS.Timeout | undefined }

/** The usage of a completed task, the memory of the process afterwards, and whether the process has ended. */
type CompletedTask = { usage: { cpuMs: number }; residentBytes: number; hasEnded: boolean }

/** Processes that hold more memory are replaced. */
const retireAboveBytes = 136 * 1024 ** 2
const retireAfterTasks = 500

/** Creates a process pool. Processes are started on demand, reused, and ended after an idle time. */
export function openProcessPool(limits: ProcessLimits, idleMs: number) {
  const all = new Set<Worker>()
  const idle: Worker[] = []

  async function discard(worker: Worker): Promise<void> {
    clearTimeout(worker.timer)
    all.delete(worker)
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1)
    await worker.process.end()
  }
  return {
    /** Returns an idle process or starts one. @throws AnalysisFailed when no process can be started. */
    async acquire(): Promise<Worker> {
      const kept = idle.pop()
      clearTimeout(kept?.timer)
      if (kept?.process.isAlive()) return kept
      if (kept) await discard(kept)
      const worker: Worker = { process: await startProcess(limits), tasks: 0, cpuMs: 0, timer: undefined }
      all.add(worker)
      return worker
    },
    /** Returns a process to the pool after a task. Ends the process instead if it has exceeded a retirement limit. */
    async release(worker: Worker, { usage, residentBytes, hasEnded }: CompletedTask): Promise<void> {
      worker.tasks += 1
      worker.cpuMs += usage.cpuMs
      const mustRetire = worker.tasks >= retireAfterTasks || worker.cpuMs > retireAfterCpuMs || residentBytes > retireAboveBytes
      if (mustRetire || hasEnded || !all.has(worker)) return discard(worker)
      idle.push(worker)
      // If the process's folder cannot be removed now, the next start of the server removes it.
      worker.timer = setTimeout(() => {
        discard(worker).catch(() => {})
      }, idleMs).unref()
    },
    count: () => ({ busy: all.size - idle.length, idle: idle.length }),
    discard,
    discardAll: async () => void (await Promise.all([...all].map(discard))),
  }
}
