import { type AnalysisProcess, type ProcessLimits, retireAfterCpuMs, startProcess } from './start.ts'

/** A process, and what it has done so far. */
export type Worker = { process: AnalysisProcess; tasks: number; cpuMs: number; timer: NodeJS.Timeout | undefined }

/** What a task took, how much memory the process holds after it, and whether it is still there. */
type Done = { usage: { cpuMs: number }; residentBytes: number; hasEnded: boolean }

/** A process that has grown larger is replaced by a fresh one. */
const retireAboveBytes = 136 * 1024 ** 2
const retireAfterTasks = 500

/** Processes, started when they are needed and kept for the next task, until they had nothing to do for a while. */
export function gatherCrew(limits: ProcessLimits, idleMs: number) {
  const all = new Set<Worker>()
  const idle: Worker[] = []

  async function dismiss(worker: Worker): Promise<void> {
    clearTimeout(worker.timer)
    all.delete(worker)
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1)
    await worker.process.end()
  }
  return {
    /** @throws AnalysisFailed when none can be started. */
    async take(): Promise<Worker> {
      const kept = idle.pop()
      clearTimeout(kept?.timer)
      if (kept?.process.isAlive()) return kept
      if (kept) await dismiss(kept)
      const worker: Worker = { process: await startProcess(limits), tasks: 0, cpuMs: 0, timer: undefined }
      all.add(worker)
      return worker
    },
    /** Takes back one that has done its task, and keeps it unless it is worn. */
    async giveBack(worker: Worker, { usage, residentBytes, hasEnded }: Done): Promise<void> {
      worker.tasks += 1
      worker.cpuMs += usage.cpuMs
      const isWorn = worker.tasks >= retireAfterTasks || worker.cpuMs > retireAfterCpuMs || residentBytes > retireAboveBytes
      if (isWorn || hasEnded || !all.has(worker)) return dismiss(worker)
      idle.push(worker)
      // What cannot be removed is removed at the next start.
      worker.timer = setTimeout(() => {
        dismiss(worker).catch(() => {})
      }, idleMs).unref()
    },
    count: () => ({ busy: all.size - idle.length, idle: idle.length }),
    dismiss,
    dismissAll: async () => void (await Promise.all([...all].map(dismiss))),
  }
}
