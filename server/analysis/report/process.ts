import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { realpath, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { excludeFirstCpu } from '../../platform/sandbox/command.ts'

export type ProcessLimits = {
  /** Creates the process's own folder, which is removed when the process ends. */
  makeFolder: () => Promise<string>
  /** Maximum CPU time of a task in milliseconds. A process that exceeds it is killed. */
  deadlineMs: number
  /** Memory limit in bytes. */
  memoryBytes: number
  /** The module that the process runs. */
  module: URL
}

/** A process that answers one question at a time. */
export type AnalysisProcess = {
  /** The process's own folder: the only place it may write to, and besides the program the only one it may read. */
  folder: string
  /**
   * Sends a question and waits for the answer. If the process ends after its interim answer, returns that answer, and the reason as `failure`.
   * @throws AnalysisFailed when the process ended before any answer, or for a transient reason.
   */
  ask(question: object): Promise<{ answer: unknown; failure: string | null; peakBytes: number }>
  isAlive(): boolean
  /** Kills the process and removes its folder. */
  end(): Promise<void>
}

/** Time limit for starting the process. Generous, since a busy machine is not an error. */
const maxStartMs = 60_000
/** A process that gets less CPU time than one part in this number fails transiently, so that the analysis is repeated later. */
const slowestPart = 30
/** Interval of memory checks. A process cannot allocate a dangerous amount of memory in this time. */
const watchEveryMs = 25
/** Size of a memory page on nearly every Linux system. */
const pageBytes = 4096
/** Number of characters of stderr that are kept to report why the process ended. */
const maxStderr = 8192

/**
 * Starts an analysis process with an empty environment and low priority. It cannot start other processes, and can only open the program's files and
 * those in its own folder. If the server is killed, it ends with its current question, or after a few minutes of CPU time.
 */
export async function startProcess(limits: ProcessLimits): Promise<AnalysisProcess> {
  const folder = await realpath(await limits.makeFolder())
  const running = run(limits, folder)
  const end = async () => {
    running.child.kill('SIGKILL')
    setReferenced(running.child, true)
    await running.ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await nextMessage(running, { deadlineMs: maxStartMs, memoryBytes: limits.memoryBytes })
  } catch (cause) {
    await end()
    throw new AnalysisFailed(`The analysis process could not be started: ${reasonOf(cause)}`, { isTransient: true, cause })
  }
  return {
    folder,
    async ask(question) {
      Object.assign(running, { peakBytes: 0, interim: undefined })
      running.child.send(question, (error) => error && running.waiting?.reject(endedEarly(running)))
      try {
        return { answer: await nextMessage(running, limits), failure: null, peakBytes: running.peakBytes }
      } catch (error) {
        const { interim, peakBytes } = running
        if (interim === undefined || !(error instanceof AnalysisFailed) || error.isTransient) throw error
        return { answer: interim, failure: error.message, peakBytes }
      }
    },
    isAlive: () => running.isAlive,
    end,
  }
}

type Running = {
  child: ChildProcess
  isAlive: boolean
  ended: Promise<void>
  stderr: string
  peakBytes: number
  waiting: PromiseWithResolvers<unknown> | undefined
  /** The interim answer to the current question. */
  interim: unknown
}

const root = fileURLToPath(new URL('../../..', import.meta.url))

function run({ memoryBytes, deadlineMs, module }: ProcessLimits, folder: string): Running {
  const readable = ['server/*', 'node_modules/*', 'package.json'].map((path) => `--allow-fs-read=${root}${path}`)
  const files = [...readable, `--allow-fs-read=${fileURLToPath(module)}`, `--allow-fs-read=${folder}/*`, `--allow-fs-write=${folder}/*`]
  const heap = `--max-old-space-size=${Math.round((memoryBytes * 0.6) / 1024 ** 2)}`
  const node = [process.execPath, '--permission', ...files, heap, ...heapOptions, '--disable-warning=ExperimentalWarning']
  // No core files. A CPU time limit ends an orphaned process. When memory is short, the kernel kills this process first. The priority is set by the
  // shell, because Node starts threads before it runs any script.
  const limits = 'ulimit -c 0; ulimit -t "$0"; echo 1000 2>/dev/null >/proc/self/oom_score_adj;'
  const shell = `${limits} ${excludeFirstCpu()} exec nice -n 10 "$@"`
  const seconds = String(Math.ceil((retireAfterCpuMs + deadlineMs) / 1000) + 60)
  const child = spawn('/bin/sh', ['-c', shell, seconds, ...node, fileURLToPath(module)], {
    env: { MALLOC_ARENA_MAX: '1' },
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
  })
  return listen(child)
}

/** V8 options that keep the heap small. `--expose-gc` allows the process to trigger a garbage collection. */
const heapOptions = ['--max-semi-space-size=2', '--heap-growing-percent=15', '--optimize-for-size', '--v8-pool-size=1', '--expose-gc']

/** CPU time in milliseconds after which a process is replaced. */
export const retireAfterCpuMs = 120_000

function listen(child: ChildProcess): Running {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const running: Running = { child, isAlive: true, ended, stderr: '', peakBytes: 0, waiting: undefined, interim: undefined }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (running.stderr = (running.stderr + text).slice(-maxStderr)))
  child.on('message', (message) => {
    if (typeof message === 'object' && 'interim' in message) running.interim = message.interim
    else running.waiting?.resolve(message)
  })
  child.on('error', (error) => {
    running.isAlive = false
    running.waiting?.reject(error)
    if (child.pid === undefined) end()
  })
  // Waits for `close` instead of `exit`, because output may still be unread at `exit`.
  child.on('close', () => {
    running.isAlive = false
    running.waiting?.reject(endedEarly(running))
    end()
  })
  setReferenced(child, false)
  return running
}

/** Sets whether the child keeps the server's event loop alive. */
function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  const { stderr } = child
  for (const each of [child, child.channel, stderr instanceof Socket ? stderr : null]) {
    if (isReferenced) each?.ref()
    else each?.unref()
  }
}

type Bounds = Pick<ProcessLimits, 'deadlineMs' | 'memoryBytes'>

/** Waits for the next message. Kills the process if it exceeds a limit. */
async function nextMessage(running: Running, { deadlineMs, memoryBytes }: Bounds): Promise<unknown> {
  if (!running.isAlive) throw endedEarly(running)
  const waiting = (running.waiting = Promise.withResolvers<unknown>())
  const fail = (message: string) => {
    waiting.reject(new AnalysisFailed(message))
    running.child.kill('SIGKILL')
  }
  const spentBefore = cpuMsOf(running.child.pid)
  const starve = () => {
    waiting.reject(new AnalysisFailed('The machine was too busy for the analysis.', { isTransient: true }))
    running.child.kill('SIGKILL')
  }
  const patience = setTimeout(starve, deadlineMs * slowestPart)
  const watch = setInterval(() => {
    if (cpuMsOf(running.child.pid) - spentBefore > deadlineMs) fail(`The analysis took more than ${deadlineMs / 1000} seconds of CPU time.`)
    running.peakBytes = Math.max(running.peakBytes, residentBytes(running.child.pid))
    if (running.peakBytes > memoryBytes) fail(memoryExceeded(memoryBytes))
  }, watchEveryMs)
  setReferenced(running.child, true)
  try {
    return await waiting.promise
  } catch (error) {
    throw outOfHeap.test(running.stderr) ? new AnalysisFailed(memoryExceeded(memoryBytes), { cause: error }) : error
  } finally {
    clearTimeout(patience)
    clearInterval(watch)
    running.waiting = undefined
    setReferenced(running.child, false)
  }
}

const outOfHeap = /heap out of memory|Allocation failed|out of memory/i
const memoryExceeded = (limit: number) => `The analysis needed more than ${Math.round(limit / 1024 ** 2)} MB of memory.`

/** Returns the resident memory of a process in bytes; 0 where /proc is not available. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes
  } catch {
    return 0
  }
}

/** Returns the CPU time of a process in milliseconds. Where /proc is not available, returns the time of the clock. */
function cpuMsOf(pid: number | undefined): number {
  try {
    // The name in parentheses, the second field, may contain spaces. User and system time are the fields 14 and 15, in hundredths of a second.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return process.platform === 'linux' ? 0 : performance.now()
  }
}

function endedEarly({ child, stderr }: Running): AnalysisFailed {
  const how = child.signalCode ? `killed by ${child.signalCode}` : `exit code ${child.exitCode ?? 'unknown'}`
  const [errorLine = ''] = /^\w*Error(?: \[\w+\])?: .*$/m.exec(stderr) ?? []
  // A process that ended by a signal was killed from outside. The package is not the cause, so a retry may succeed.
  return new AnalysisFailed(`The analysis process ended early (${[how, errorLine].filter(Boolean).join('; ')}).`, {
    isTransient: child.signalCode !== null,
  })
}

const reasonOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** An analysis that failed. The message is shown to package authors and server administrators. */
export class AnalysisFailed extends Error {
  /** Whether a retry may succeed, because the package did not cause the failure. */
  readonly isTransient: boolean

  constructor(message: string, { isTransient = false, cause }: Details = {}) {
    super(message, { cause })
    this.name = 'AnalysisFailed'
    this.isTransient = isTransient
  }
}

type Details = { isTransient?: boolean; cause?: unknown }
