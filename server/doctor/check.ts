/** What came of a check: `warning` is worth a look, `failed` keeps the server from working as it should. */
export type Status = 'ok' | 'warning' | 'failed'

/** One thing that was looked at: what was seen, and what to do about it. */
export type Check = { name: string; status: Status; message: string; advice?: string }

/** So long a check may take; a database or a store that does not answer is not waited for longer. */
const timeoutMs = 20_000

/** Looks at one thing, or several that belong together; what it throws, or does not end in time, is a check that failed. */
export async function examine(name: string, look: () => Promise<Check[]>, limitMs = timeoutMs): Promise<Check[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`There was no answer within ${limitMs / 1000} seconds.`)), limitMs)
  })
  try {
    return await Promise.race([look(), late])
  } catch (error) {
    return [{ name, status: 'failed', message: messageOf(error) }]
  } finally {
    clearTimeout(timer)
  }
}

/** What an error says, on one line. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message || String(error) : String(error)).replaceAll('\n', ' ')

/** A size as people read it. */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1000)), units.length - 1)
  return `${(bytes / 1000 ** power).toFixed(power > 2 ? 1 : 0)} ${units[power]}`
}
