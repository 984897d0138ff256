import { close, open } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import { storageAway } from '../../errors.ts'

/** Runs an operation on files, which normally takes milliseconds. */
export type DiskCalls = <Value>(work: () => Promise<Value>, options?: CallOptions<Value>) => Promise<Value>
type CallOptions<Value> = {
  /** Number of steps after which the disk counts as not responding. */
  steps?: number
  /** Also runs the operation when the disk does not respond, as soon as it responds again. */
  always?: boolean
  /** Called with the result of an operation that returned after it was rejected. */
  undo?: (value: Value) => Promise<unknown>
}

/** Runs operations without limits, for folders that are not part of the archive store. */
export const directly: DiskCalls = (work) => work()

/**
 * Limits for reads and for writes. Each pending operation occupies one of the eight threads of libuv (see snug.mjs) until the disk responds. The other
 * two remain for compression and DNS.
 */
const atOnce = 3

/** Time is counted in steps, so that a paused process or a busy event loop does not look like a disk that does not respond. */
const stepMs = 250
const usualSteps = 14
/** A sync may also write what other processes have written. */
export const syncSteps = 120
/** A folder may have very many entries. */
export const listSteps = 120

export const reads = limitCalls()
export const writes = limitCalls()

type Pending = { stepsLeft: number; isRunning: boolean; isRejected: boolean; reject: (error: unknown) => void }

/**
 * Returns a function that runs file operations. If one does not return in time, it and all other pending ones are rejected, and so are new ones until
 * it returns.
 * @throws ApiError ServiceUnavailable.
 */
function limitCalls(): DiskCalls {
  const limit = pLimit(atOnce)
  const pending = new Set<Pending>()
  let overdue = 0
  let timer: NodeJS.Timeout | undefined
  function countStep(): void {
    const late = [...pending].filter((call) => call.isRunning && --call.stepsLeft === 0)
    overdue += late.length
    if (late.length > 0) for (const call of pending) rejectCall(call)
    if (pending.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return async (work, { steps = usualSteps, always = false, undo } = {}) => {
    if (overdue > 0 && !always) throw notResponding()
    timer ??= setInterval(countStep, stepMs).unref()
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof work>>>()
    const call: Pending = { stepsLeft: steps, isRunning: false, isRejected: false, reject }
    pending.add(call)
    if (overdue > 0) rejectCall(call)
    const running = limit(async () => {
      if (call.isRejected && !always) return void pending.delete(call)
      call.isRunning = true
      try {
        const value = await work()
        if (call.isRejected) await undo?.(value)
        resolve(value)
      } catch (error) {
        reject(error)
      }
      pending.delete(call)
      if (call.stepsLeft <= 0) overdue--
    })
    running.catch(reject)
    return promise
  }
}

function rejectCall(call: Pending): void {
  call.isRejected = true
  call.reject(notResponding())
}

const notResponding = () => storageAway(new Error('An operation on files has not returned: the disk does not respond'))

const openDescriptor = promisify<string, number | string, number, number>(open)
const closeDescriptor = promisify(close)

/** Opens a file and returns its descriptor. */
export const openFile = (calls: DiskCalls, path: string, flags: number | string, mode = 0o666): Promise<number> =>
  calls(() => openDescriptor(path, flags, mode), { undo: closeDescriptor })

/** Closes a descriptor, if necessary once the disk responds again. */
export const closeFile = (calls: DiskCalls, fd: number): Promise<void> => calls(() => closeDescriptor(fd), { always: true })

/**
 * Writes to a folder before synchronous calls, which would otherwise block the process while the disk does not respond.
 * @throws ApiError ServiceUnavailable.
 */
export async function requireResponse(folder: string): Promise<void> {
  const now = new Date()
  await writes(() => utimes(folder, now, now))
}
