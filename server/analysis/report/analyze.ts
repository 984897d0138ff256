import { constants, copyFile, link, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import pLimit from 'p-limit'
import { type AnalysisResult, type AnalysisTask, answerSchema, archiveName, docsName, type Question } from './task.ts'
import { AnalysisFailed, type AnalysisProcess, type ProcessLimits, retireAfterCpuMs, startProcess } from './process.ts'
export type { AnalysisResult, AnalysisTask } from './task.ts'
export { AnalysisFailed } from './process.ts'

declare module '../../services.ts' {
  interface Services {
    /** Built-in engine that scores versions. */
    analyzer: Analyzer
  }
}

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
  /** Numbers of running processes. */
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
    const { report, surface, apiVerdict, docs, docsFailure, usage } = outcome
    return { report, surface, apiVerdict, docs, docsFailure, usage }
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

/** An analysis process and its accumulated usage. */
type Worker = { process: AnalysisProcess; tasks: number; cpuMs: number; timer: NodeJS.Timeout | undefined }

/** Processes that hold more memory are replaced. */
const retireAboveBytes = 136 * 1024 ** 2
const retireAfterTasks = 500

/** Creates a process pool. Processes are started on demand, reused, and ended after an idle time. */
function openProcessPool(limits: ProcessLimits, idleMs: number) {
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
    async release(worker: Worker, { usage, residentBytes, hasEnded }: Awaited<ReturnType<typeof exchange>>): Promise<void> {
      worker.tasks += 1
      worker.cpuMs += usage.cpuMs
      const mustRetire = worker.tasks >= retireAfterTasks || worker.cpuMs > retireAfterCpuMs || residentBytes > retireAboveBytes
      if (mustRetire || hasEnded || !all.has(worker)) return discard(worker)
      idle.push(worker)
      // If the process's folder cannot be removed now, the next start of the server removes it.
      worker.timer = setTimeout(() => void discard(worker).catch(() => {}), idleMs).unref()
    },
    count: () => ({ busy: all.size - idle.length, idle: idle.length }),
    discard,
    discardAll: async () => void (await Promise.all([...all].map(discard))),
  }
}

/** Sends a task to a process and returns the result. @throws AnalysisFailed; the caller must then end the process. */
async function exchange(process: AnalysisProcess, { archive, facts, docs, earlier }: AnalysisTask) {
  const started = performance.now()
  const [own, pages] = [join(process.folder, archiveName), join(process.folder, docsName)]
  await provideArchive(archive, own)
  const question: Question = { facts, wantsDocs: docs !== null, earlier }
  const { answer, failure, peakBytes } = await process.ask(question)
  await rm(own)
  const { data: read, error } = answerSchema.safeParse(answer)
  if (!read) throw new AnalysisFailed('The analysis process returned an invalid result.', { cause: error })
  const { cpuMs, residentBytes } = read
  const held = { residentBytes, hasEnded: failure !== null }
  const usage = { cpuMs, peakBytes: Math.max(peakBytes, read.peakBytes), ms: Math.round(performance.now() - started) }
  if ('refused' in read) return { refused: read.refused, usage, ...held }
  const { report, surface, apiVerdict } = read
  const docsFailure = failure ?? read.docsFailure
  const path = docs && docsFailure === null ? await movePages(pages, docs.folder) : null
  return { report, surface, apiVerdict, docs: path, docsFailure, usage, ...held }
}

/** Provides the archive in the process folder: as a hard link if possible, else as a copy. */
async function provideArchive(archive: string, own: string): Promise<void> {
  await rm(own, { force: true })
  try {
    await link(archive, own)
  } catch {
    await copyFile(archive, own, constants.COPYFILE_FICLONE).catch((cause: unknown) => {
      throw new AnalysisFailed('The archive could not be read from the storage.', { isTransient: true, cause })
    })
  }
}

/** Moves the documentation pages to the caller's folder and returns their path. */
async function movePages(pages: string, folder: string): Promise<string> {
  const path = join(folder, `${randomUUID()}.pages`)
  try {
    await rename(pages, path).catch(() => copyFile(pages, path))
    return path
  } catch (cause) {
    await rm(path, { force: true })
    throw new AnalysisFailed('The pages of the documentation could not be stored.', { isTransient: true, cause })
  } finally {
    await rm(pages, { force: true })
  }
}
