import { ApiError, diskFull, storageAway } from '../../errors.ts'
import { DamagedBytes } from '../store.ts'

/** Whether an answer says that there is no such object. HEAD gets no body, and so no code. */
export const isMissing = (error: unknown): boolean => ['NoSuchKey', 'NotFound'].includes(codeOf(error))

/** Whether a condition of the request did not hold: there is such an object already, or another one. */
export const isPrecondition = (error: unknown): boolean =>
  statusOf(error) === 412 || ['PreconditionFailed', 'ConditionalRequestConflict'].includes(codeOf(error))

/** Whether the service does not know what it was asked for. */
export const isUnsupported = (error: unknown): boolean => statusOf(error) === 501 || codeOf(error) === 'NotImplemented'

/** The code of an error of the service or of the connection to it. */
export const codeOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : ''

/** The status of an answer; null when there was none. */
export function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null
  const { httpStatusCode } = error.$metadata as { httpStatusCode?: number }
  return httpStatusCode ?? null
}

/** The error of a file system for bytes that are not there. */
export const missing = (cause?: unknown): Error =>
  Object.assign(new Error('There are no such bytes in the bucket', { cause }), { code: 'ENOENT' })

/** Does something, and makes what goes wrong with the service what a folder would have caused: ENOENT, or an error that a client may read. */
export async function reported<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw failureOf(error)
  }
}

/** See reported. What was not caused by the service stays as it is. */
export function failureOf(error: unknown): unknown {
  if (error instanceof ApiError || error instanceof DamagedBytes || error instanceof RangeError) return error
  if (codeOf(error) === 'ENOENT') return error
  if (isMissing(error)) return missing(error)
  return isFull(error) ? diskFull() : storageAway(withReason(error))
}

/** HEAD gets no body, and so no reason but the status, which the client does not name. */
function withReason(error: unknown): unknown {
  const isUnknown = error instanceof Error && error.message === 'UnknownError'
  return isUnknown ? new Error(`The storage service answered with the status ${statusOf(error)}`, { cause: error }) : error
}

/** No room, as services say it that run on somebody's own disks. */
const isFull = (error: unknown) =>
  statusOf(error) === 507 || ['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage'].includes(codeOf(error))
