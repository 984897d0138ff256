import { execFile } from 'node:child_process'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { jobGroup } from './account.ts'
import type { Limits } from './limits.ts'
import { systemPath } from './means.ts'
import { findProcesses, type JobProcesses, signal } from './processes.ts'

/** What a job is ended for. */
export type Reason = 'timeout' | 'aborted' | 'output' | 'memory' | 'processes' | 'disk'

/** Looks after a running job. */
export type Watch = {
  /** Ends it, for the first reason that is given. */
  stop: (reason: Reason) => void
  /** Ends what is left of it, and says what there was to see. */
  close: () => Promise<{ reason: Reason | null; peakBytes: number }>
}

type Watched = { processes: JobProcesses; limits: Limits; folder: string; account: number | null; abort: AbortSignal | undefined }

const pollMs = 250
const pollsBetweenFolders = 8

/** Ends a job that goes over the limits which the kernel does not hold for all its processes together. */
export function watch({ processes, limits, folder, account, abort }: Watched): Watch {
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
    // Once the kernel refuses new ones, nothing useful comes any more.
    if (threads >= limits.processes * 0.9) stop('processes')
    if (++polls % pollsBetweenFolders === 0 && !measuring) measureFolder().catch(() => stop('disk'))
  }, pollMs)
  const clock = globalThis.setTimeout(() => stop('timeout'), limits.seconds * 1000)
  const onAbort = () => stop('aborted')
  abort?.addEventListener('abort', onAbort)
  return {
    stop,
    close: async () => {
      clearInterval(poll)
      clearTimeout(clock)
      abort?.removeEventListener('abort', onAbort)
      await endAll(processes, account)
      return { reason, peakBytes }
    },
  }
}

/** Ends every process of a job that is found, until none is. */
async function endAll(processes: JobProcesses, account: number | null): Promise<void> {
  signal(-processes.first, 'SIGKILL')
  if (account !== null && processes.mark !== null) await endAccount(account)
  for (let round = 0; round < 100; round++) {
    const left = findProcesses(processes)
    if (left.length === 0) return
    // What is stopped starts nothing new while the others are ended.
    for (const { id } of left) signal(id, 'SIGSTOP')
    for (const { id } of left) signal(id, 'SIGKILL')
    await setTimeout(10)
  }
}

/** Ends everything that runs under the account of a job, at once, wherever it hides. */
const endAccount = (account: number) =>
  new Promise<void>((resolve) => {
    const ids = [`--reuid=${account}`, `--regid=${jobGroup}`, '--clear-groups']
    execFile('setpriv', [...ids, 'sh', '-c', 'kill -KILL -1'], { env: { PATH: systemPath } }, () => resolve())
  })

/** The bytes of a folder on the disk; it stops to count when they are too many, as what cannot be counted is: shut folders, and endless paths. */
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

/** Jobs remove and replace what they made meanwhile. */
const isGone = (code: string | undefined) => code === 'ENOENT' || code === 'ENOTDIR'
