import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { openProcessPool } from './process/pool.ts'
import { exchange } from './exchange.ts'
import { AnalysisFailed } from './process/failure.ts'
import type { ProcessLimits } from './process/start.ts'
import type { AnalysisResult, AnalysisTask } from './task.ts'

export type { AnalysisResult, AnalysisTask } from './task.ts'
export { AnalysisFailed } from './process/failure.ts'

export type AnalyzerLimits = Partial<ProcessLimits> & {
  /** Maximum number of concurrent processes. Further tasks wait in a queue. */
  processes?: number
  /** Idle time in milliseconds after which a process ends. */
  idleMs?: number
}

/** The built-in engine. Needs no SDK: it reads the archive and does not run any of its code. */
export type Analyzer = {
  /**
   * Scores a package and, if requested, generates its API documentation. If the documentation exceeds a limit, the result contains only the report.
   * @throws AnalysisFailed when the package cannot be read or exceeds the time or memory limit, or when the process was killed.
   */
  analyze(task: AnalysisTask): Promise<AnalysisResult>
  /** Returns the number of running processes. */
  processes(): { busy: number; idle: number }
  /** Ends all processes. Running analyses fail. */
  close(): Promise<void>
}

/** Creates an analyzer. Processes are started on demand and reused for later packages. */
export function openAnalyzer({ processes = 1, idleMs = 30_000, ...given }: AnalyzerLimits = {}): Analyzer {
  const pool = openProcessPool({ ...defaults, ...given }, idleMs)
  const inTurn = pLimit(processes)
  let isClosed = false

  async function analyze(task: AnalysisTask): Promise<AnalysisResult> {
    if (isClosed) throw stopping()
    const worker = await pool.acquire()
    const outcome = await exchange(worker.process, task).catch(async (error: unknown) => {
      await pool.discard(worker)
      throw isClosed ? stopping(error) : error
    })
    await pool.release(worker, outcome)
    if ('refused' in outcome) throw new AnalysisFailed(outcome.refused)
    const { report, surface, docs, docsFailure, usage } = outcome
    return { report, surface, docs, docsFailure, usage }
  }
  return {
    analyze: (task) => inTurn(() => analyze(task)),
    processes: pool.count,
    close() {
      isClosed = true
      return pool.discardAll()
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
