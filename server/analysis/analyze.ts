import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { gatherCrew } from './process/crew.ts'
import { exchange } from './exchange.ts'
import { AnalysisFailed } from './process/failure.ts'
import type { ProcessLimits } from './process/start.ts'
import type { AnalysisResult, AnalysisTask } from './task.ts'

export type { AnalysisResult, AnalysisTask } from './task.ts'
export { AnalysisFailed } from './process/failure.ts'

export type AnalyzerLimits = Partial<ProcessLimits> & {
  /** How many processes work at the same time; others wait for one of them. */
  processes?: number
  /** A process that had nothing to do for so long ends. */
  idleMs?: number
}

/** The built-in engine. It needs no SDK: it reads the archive, and runs nothing of it. */
export type Analyzer = {
  /**
   * Scores a package, and generates the pages of its API documentation if they are wanted. Where those are too much, there is a report without them.
   * @throws AnalysisFailed for a package that cannot be read, takes too long or too much memory, or when the process was killed.
   */
  analyze(task: AnalysisTask): Promise<AnalysisResult>
  /** How many processes there are. */
  processes(): { busy: number; idle: number }
  /** Ends the processes. What is being analyzed fails. */
  close(): Promise<void>
}

/** Makes an analyzer. Processes are started when they are needed, and kept for the next packages. */
export function openAnalyzer({ processes = 1, idleMs = 30_000, ...given }: AnalyzerLimits = {}): Analyzer {
  const crew = gatherCrew({ ...defaults, ...given }, idleMs)
  const inTurn = pLimit(processes)
  let isClosed = false

  async function analyze(task: AnalysisTask): Promise<AnalysisResult> {
    if (isClosed) throw stopping()
    const worker = await crew.take()
    const outcome = await exchange(worker.process, task).catch(async (error: unknown) => {
      await crew.dismiss(worker)
      throw isClosed ? stopping(error) : error
    })
    await crew.giveBack(worker, outcome)
    if ('refused' in outcome) throw new AnalysisFailed(outcome.refused)
    const { report, surface, docs, docsFailure, usage } = outcome
    return { report, surface, docs, docsFailure, usage }
  }
  return {
    analyze: (task) => inTurn(() => analyze(task)),
    processes: crew.count,
    close() {
      isClosed = true
      return crew.dismissAll()
    },
  }
}

const defaults: ProcessLimits = {
  makeFolder: () => mkdtemp(join(tmpdir(), 'snug-analysis-')),
  deadlineMs: 60_000,
  memoryBytes: 512 * 1024 ** 2,
  module: new URL('./worker.ts', import.meta.url),
}

const stopping = (cause?: unknown) => new AnalysisFailed('The server is stopping.', { isTransient: true, cause })
