import type { SdkInstall } from './entity.ts'

/** How far an install is. */
export type InstallProgress = Pick<SdkInstall, 'status' | 'bytesDone' | 'errorMessage'> & {
  installId: string
  bytesTotal: number | null
  /** Of the current step. */
  percent: number
  log: string[]
}

/** So many lines of an install's log are kept, of so many characters. */
const maxLines = 200
const maxLength = 400

/** What an install tells of itself; its log has to be loaded. */
export function progressOf({ id, status, bytesDone, bytesTotal, log, errorMessage }: SdkInstall): InstallProgress {
  const total = bytesTotal ?? null
  const percent = status === 'ready' ? 100 : total ? Math.min(99, Math.floor((100 * bytesDone) / total)) : 0
  return { installId: id, status, bytesDone, bytesTotal: total, percent, log: linesOf(log), errorMessage }
}

/** Everything that a change shows in. */
export const tagOf = (progress: InstallProgress): string => JSON.stringify(progress)

export const isOver = ({ status }: Pick<SdkInstall, 'status'>): boolean => status === 'ready' || status === 'failed'

const linesOf = (log: string): string[] => (log === '' ? [] : log.split('\n'))

/** A log with lines added at its end: the last ones are kept. */
export const withLines = (log: string, added: readonly string[]): string =>
  [...linesOf(log), ...added.map((line) => line.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, maxLength))].slice(-maxLines).join('\n')
