import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { realpath, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { leaveProcessor } from '../../threads/processors.ts'
import { AnalysisFailed } from './failure.ts'

export type ProcessLimits = {
  /** Makes its own folder, which is removed when it ends. */
  makeFolder: () => Promise<string>
  /** An answer that takes longer ends the process. */
  deadlineMs: number
  /** The most memory that it may hold, in bytes. */
  memoryBytes: number
  /** What it runs. */
  module: URL
}

/** A process that answers one question at a time. */
export type AnalysisProcess = {
  /** Its own folder: all that it may write to, and what it may read besides the program. */
  folder: string
  /**
   * Asks a question. `failure` says why the process ended after an answer without pages; null when it ended well.
   * @throws AnalysisFailed when the process ended before any answer, or for a reason that may pass.
   */
  ask(question: object): Promise<{ answer: unknown; failure: string | null; peakBytes: number }>
  isAlive(): boolean
  /** Kills it, and removes its folder. */
  end(): Promise<void>
}

/** A busy machine is no failure. */
const maxStartMs = 60_000
/** Filling memory takes time, too: faster than this, no process could do much harm. */
const watchEveryMs = 25
/** Pages of memory, on nearly every Linux. */
const pageBytes = 4096
/** What it said last, of which the reason of its end is told. */
const maxStderr = 8192

/**
 * Starts a process with none of the server's environment, below the priority of requests, that can start no others and open no file but the
 * program's and those in its folder. If the server is killed, it ends with its current question, after some minutes at the latest.
 */
export async function startProcess(limits: ProcessLimits): Promise<AnalysisProcess> {
  const folder = await realpath(await limits.makeFolder())
  const running = run(limits, folder)
  const end = async () => {
    running.child.kill('SIGKILL')
    hold(running.child, true)
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
      running.child.send(question, (error) => error && running.waiting?.reject(lost(running)))
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
  /** The answer to the present question so far. */
  interim: unknown
}

const root = fileURLToPath(new URL('../../..', import.meta.url))

function run({ memoryBytes, deadlineMs, module }: ProcessLimits, folder: string): Running {
  const readable = ['server/*', 'node_modules/*', 'package.json'].map((path) => `--allow-fs-read=${root}${path}`)
  const files = [...readable, `--allow-fs-read=${fileURLToPath(module)}`, `--allow-fs-read=${folder}/*`, `--allow-fs-write=${folder}/*`]
  const heap = `--max-old-space-size=${Math.round((memoryBytes * 0.6) / 1024 ** 2)}`
  const node = [process.execPath, '--permission', ...files, heap, ...thrift, '--disable-warning=ExperimentalWarning']
  // No core files; if nobody is there to end it, so many seconds of a processor. Where memory is short, it goes first. Requests come before all
  // of its threads, of which Node starts some before it runs anything.
  const limits = 'ulimit -c 0; ulimit -t "$0"; echo 1000 2>/dev/null >/proc/self/oom_score_adj;'
  const shell = `${limits} ${leaveProcessor()} exec nice -n 10 "$@"`
  const seconds = String(Math.ceil((retireAfterCpuMs + deadlineMs) / 1000) + 60)
  const child = spawn('/bin/sh', ['-c', shell, seconds, ...node, fileURLToPath(module)], {
    env: { MALLOC_ARENA_MAX: '1' },
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
  })
  return listen(child)
}

/** What keeps the heap close to what is in it; the process may ask for a collection. */
const thrift = ['--max-semi-space-size=2', '--heap-growing-percent=15', '--optimize-for-size', '--v8-pool-size=1', '--expose-gc']

/** After so much work it is replaced by a fresh one. */
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
  // Not `exit`: what it said last may still be on its way.
  child.on('close', () => {
    running.isAlive = false
    running.waiting?.reject(lost(running))
    end()
  })
  hold(child, false)
  return running
}

/** Whether this process goes on for as long as the child does. */
function hold(child: ChildProcess, isHeld: boolean): void {
  const { stderr } = child
  for (const each of [child, child.channel, stderr instanceof Socket ? stderr : null]) {
    if (isHeld) each?.ref()
    else each?.unref()
  }
}

type Bounds = Pick<ProcessLimits, 'deadlineMs' | 'memoryBytes'>

/** What the process says next. Whatever exceeds a limit is killed. */
async function nextMessage(running: Running, { deadlineMs, memoryBytes }: Bounds): Promise<unknown> {
  if (!running.isAlive) throw lost(running)
  const waiting = (running.waiting = Promise.withResolvers<unknown>())
  const fail = (message: string) => {
    waiting.reject(new AnalysisFailed(message))
    running.child.kill('SIGKILL')
  }
  const deadline = setTimeout(() => fail(`The analysis took longer than ${deadlineMs / 1000} seconds.`), deadlineMs)
  const watch = setInterval(() => {
    running.peakBytes = Math.max(running.peakBytes, residentBytes(running.child.pid))
    if (running.peakBytes > memoryBytes) fail(tooMuchMemory(memoryBytes))
  }, watchEveryMs)
  hold(running.child, true)
  try {
    return await waiting.promise
  } catch (error) {
    throw outOfHeap.test(running.stderr) ? new AnalysisFailed(tooMuchMemory(memoryBytes), { cause: error }) : error
  } finally {
    clearTimeout(deadline)
    clearInterval(watch)
    running.waiting = undefined
    hold(running.child, false)
  }
}

const outOfHeap = /heap out of memory|Allocation failed|out of memory/i
const tooMuchMemory = (limit: number) => `The analysis needed more than ${Math.round(limit / 1024 ** 2)} MB of memory.`

/** Memory that the process holds now; 0 where the system does not say. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes
  } catch {
    return 0
  }
}

function lost({ child, stderr }: Running): AnalysisFailed {
  const how = child.signalCode ? `killed by ${child.signalCode}` : `exit code ${child.exitCode ?? 'unknown'}`
  const [said = ''] = /^\w*Error(?: \[\w+\])?: .*$/m.exec(stderr) ?? []
  // Whoever kills it from outside does not mean the package.
  return new AnalysisFailed(`The analysis process ended early (${[how, said].filter(Boolean).join('; ')}).`, {
    isTransient: child.signalCode !== null,
  })
}

const reasonOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))
