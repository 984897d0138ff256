import { inTime } from '../cached-check.ts'

/** What was found, and how to fix it. `warning` should be reviewed; `failed` prevents the server from working correctly. */
export type Check = { name: string; status: 'ok' | 'warning' | 'failed'; message: string; advice?: string }

const resultOf =
  (status: Check['status']) =>
  (name: string, message: string, advice?: string): Check => ({ name, status, message, ...(advice !== undefined && { advice }) })

export const [passed, warning, failed] = [resultOf('ok'), resultOf('warning'), resultOf('failed')]

/** Timeout of a check, for databases and stores that do not respond. */
const timeoutMs = 20_000

/** Runs a check. An error or a timeout becomes a failed result. */
export async function examine(name: string, look: () => Promise<Check[]>, limitMs = timeoutMs): Promise<Check[]> {
  try {
    return await inTime(look(), limitMs, `No response within ${limitMs / 1000} seconds.`)
  } catch (error) {
    return [failed(name, messageOf(error))]
  }
}

/** Returns the message of an error on one line. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message || String(error) : String(error)).replaceAll('\n', ' ')

/** Formats a number of bytes. */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1000)), units.length - 1)
  return `${(bytes / 1000 ** power).toFixed(power > 2 ? 1 : 0)} ${units[power]}`
}
