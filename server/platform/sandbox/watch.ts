import { execFile } from 'node:child_process'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { jobGroup } from './account.ts'
import type { Limits } from './command.ts'
import { systemPath } from './capabilities.ts'
import { findProcesses, type JobProcesses, signal } from './processes.ts'

export type Reason = 'timeout' | 'aborted' | 'output' | 'memory' | 'processes' | 'disk'

type Watched = { processes: JobProcesses; limits: Limits; folder: string; account: number | null; abort: AbortSignal | undefined }

const pollMs = 250
const pollsBetweenFolders = 8

/** Kills a job that exceeds the limits that the kernel does not enforce for all its processes together. */
export function watch({ processes, limits, folder, account, abort }: Watched) {
  let reason: Reason | null = null
  let peakBytes = 0
  let polls = 0
  let measuring = false
  const stop = (why: Reason) => {
    reason ??= why
    signal(-processes.first, 'SIGKILL')
  }
  const measureFolder = async () => {
    measuring = true
    if ((await sizeOf(folder, limits.folderBytes)) > limits.folderBytes) stop('disk')
    measuring = false
  }
  const poll = setInterval(() => {
    const seen = findProcesses(processes)
    const bytes = seen.reduce((sum, one) => sum + one.bytes, 0)
    const threads = seen.reduce((sum, one) => sum + one.threads, 0)
    peakBytes = Math.max(peakBytes, bytes)
    if (bytes > limits.memoryBytes) stop('memory')
    // Stop shortly before the limit, because processes fail in undefined ways once the kernel rejects new ones.
    if (threads >= limits.processes * 0.9) stop('processes')
    if (++polls % pollsBetweenFolders === 0 && !measuring) measureFolder().catch(() => stop('disk'))
  }, pollMs)
  const clock = globalThis.setTimeout(() => stop('timeout'), limits.seconds * 1000)
  const onAbort = () => stop('aborted')
  abort?.addEventListener('abort', onAbort)
  return {
    /** Kills the job. Only the first reason is recorded. */
    stop,
    /** Kills the remaining processes. Returns the reason for killing the job, if any, and the peak memory usage. */
    close: async (): Promise<{ reason: Reason | null; peakBytes: number }> => {
      clearInterval(poll)
      clearTimeout(clock)
      abort?.removeEventListener('abort', onAbort)
      await endAll(processes, account)
      return { reason, peakBytes }
    },
  }
}

async function endAll(processes: JobProcesses, account: number | null): Promise<void> {
  signal(-processes.first, 'SIGKILL')
  if (account !== null && processes.mark !== null) await endAccount(account)
  for (let round = 0; round < 100; round++) {
    const left = findProcesses(processes)
    if (left.length === 0) return
    // Stop all processes first, so that they cannot start new ones while the others are killed.
    for (const { id } of left) signal(id, 'SIGSTOP')
    for (const { id } of left) signal(id, 'SIGKILL')
    await setTimeout(10)
  }
}

const endAccount = (account: number) =>
  new Promise<void>((resolve) => {
    const ids = [`--reuid=${account}`, `--regid=${jobGroup}`, '--clear-groups']
    execFile('setpriv', [...ids, 'sh', '-c', 'kill -KILL -1'], { env: { PATH: systemPath } }, () => resolve())
  })

/** Returns the disk usage in bytes, counted up to `most`. Returns infinity if a folder cannot be read, or its path is too long. */
async function sizeOf(folder: string, most: number): Promise<number> {
  let sum = 0
  const folders = [folder]
  for (const path of folders) {
    const entries = await readdir(path, { withFileTypes: true }).catch(({ code }: NodeJS.ErrnoException) => (isGone(code) ? [] : null))
    if (entries === null) return Number.POSITIVE_INFINITY
    for (const entry of entries) {
      const place = join(path, entry.name)
      if (entry.isDirectory()) folders.push(place)
      sum += (await lstat(place).catch(() => null))?.blocks ?? 0
    }
    if (sum * 512 > most) break
  }
  return sum * 512
}

/** Returns whether a file was removed or replaced during the scan. */
const isGone = (code: string | undefined) => code === 'ENOENT' || code === 'ENOTDIR'

const maxLineLength = 2000

/** Replaces control characters that a terminal would interpret. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? '\t' : '\u{FFFD}'))

/**
 * Captures the last `lines` lines of both streams, up to `mostBytes` bytes. If `stdoutBytes` is set, captures the first `stdoutBytes` bytes of stdout
 * unchanged, and lines of stderr only. `onLine` is called for each complete line; of a large burst, only for the last lines.
 */
export function keepOutput(limits: { mostBytes: number; lines: number; stdoutBytes: number | undefined }, onLine?: (line: string) => void) {
  const kept: string[] = []
  const whole: Buffer[] = []
  const open = { stdout: '', stderr: '' }
  let seen = 0
  let remaining = limits.stdoutBytes ?? 0
  const addLine = (text: string) => {
    const line = printable(text.length > maxLineLength ? `${text.slice(0, maxLineLength)} …` : text)
    kept.push(line)
    if (kept.length > limits.lines) kept.shift()
    onLine?.(line)
  }
  const addText = (stream: 'stdout' | 'stderr', text: string) => {
    const complete = (open[stream] + text).split(/\r?\n|\r/)
    // Bound the buffer of an incomplete line.
    open[stream] = complete.pop()?.slice(0, maxLineLength + 1) ?? ''
    // Skip lines of a burst that would not be kept.
    for (const line of complete.slice(-limits.lines)) addLine(line)
  }
  return {
    /** Adds output. Returns false if the limit is exceeded. */
    take: (stream: 'stdout' | 'stderr', chunk: Buffer): boolean => {
      const within = chunk.subarray(0, Math.max(0, limits.mostBytes - seen))
      seen += chunk.length
      if (stream === 'stderr' || limits.stdoutBytes === undefined) addText(stream, within.toString('utf8'))
      else if (remaining > 0) {
        // Copy, because a subarray would keep the whole chunk in memory.
        whole.push(Buffer.from(within.subarray(0, remaining)))
        remaining -= Math.min(remaining, within.length)
      }
      return seen <= limits.mostBytes
    },
    /** Ends the output: a trailing line without a line break becomes a complete line. */
    end: () => {
      for (const rest of Object.values(open)) if (rest !== '') addLine(rest)
      open.stdout = open.stderr = ''
    },
    lines: () => kept,
    stdout: () => Buffer.concat(whole),
  }
}
