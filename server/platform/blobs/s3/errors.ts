import { ApiError, diskFull, storageAway } from '../../../errors.ts'
import { DamagedBytes } from '../store.ts'

/** Returns whether a response means that the object does not exist. A HEAD response has no body and therefore no error code. */
export const isMissingObject = (error: unknown): boolean => ['NoSuchKey', 'NotFound'].includes(codeOf(error))

/** Returns whether a conditional request failed because the object already exists or has changed. */
export const isPrecondition = (error: unknown): boolean =>
  responseStatus(error) === 412 || ['PreconditionFailed', 'ConditionalRequestConflict'].includes(codeOf(error))

/** Returns whether the service does not support the operation. */
export const isUnsupported = (error: unknown): boolean => responseStatus(error) === 501 || codeOf(error) === 'NotImplemented'

/** Returns the code of an error of the service or of the connection to it. */
export const codeOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : ''

/** Returns the HTTP status of a failed request, or null if there was no response. */
export function responseStatus(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null
  const { httpStatusCode } = error.$metadata as { httpStatusCode?: number }
  return httpStatusCode ?? null
}

/** Returns an ENOENT error for an object that does not exist. */
export const missingObjectError = (cause?: unknown): Error =>
  Object.assign(new Error('The object does not exist in the bucket', { cause }), { code: 'ENOENT' })

/** Runs `work` and converts errors of the service into the errors that a file system store throws: ENOENT, or an ApiError for clients. */
export async function reported<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw failureOf(error)
  }
}

/** Converts an error as described for `reported`. Errors not caused by the service are returned unchanged. */
export function failureOf(error: unknown): unknown {
  if (error instanceof ApiError || error instanceof DamagedBytes || error instanceof RangeError) return error
  if (codeOf(error) === 'ENOENT') return error
  if (isMissingObject(error)) return missingObjectError(error)
  return isFull(error) ? diskFull() : storageAway(withReason(error))
}

/** Adds the HTTP status to an error without a message. A HEAD response has no body that contains a reason. */
function withReason(error: unknown): unknown {
  const isUnknown = error instanceof Error && error.message === 'UnknownError'
  return isUnknown ? new Error(`The storage service responded with status ${responseStatus(error)}`, { cause: error }) : error
}

/** Returns whether the service is out of space. These codes come from self-hosted services. */
const isFull = (error: unknown) =>
  responseStatus(error) === 507 || ['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage'].includes(codeOf(error))
