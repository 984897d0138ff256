import { inTime } from '../cached-check.ts'

/** Result of a check: `warning` should be reviewed; `failed` prevents the server from working correctly. */
type Status = 'ok' | 'warning' | 'failed'

/** One result: what was found, and how to fix it. */
export type Check = { name: string; status: Status; message: string; advice?: string }

/** Timeout of a check, for databases and stores that do not respond. */
const timeoutMs = 20_000

/** Runs a check. An error or a timeout becomes a failed result. */
export async function examine(name: string, look: () => Promise<Check[]>, limitMs = timeoutMs): Promise<Check[]> {
  try {
    return await inTime(look(), limitMs, `No response within ${limitMs / 1000} seconds.`)
  } catch (error) {
    return [{ name, status: 'failed', message: messageOf(error) }]
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
