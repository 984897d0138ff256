import type { SdkInstall } from './entity.ts'

/** Progress of an install. */
export type InstallProgress = Pick<SdkInstall, 'status' | 'bytesDone' | 'errorMessage'> & {
  installId: string
  bytesTotal: number | null
  /** Progress of the current step. */
  percent: number
  log: string[]
}

/** Maximum number of log lines kept per install, and their maximum length in characters. */
const maxLines = 200
const maxLength = 400

/** Returns the progress of an install. Its lazy `log` property must be loaded. */
export function progressOf({ id, status, bytesDone, bytesTotal, log, errorMessage }: SdkInstall): InstallProgress {
  const total = bytesTotal ?? null
  const percent = status === 'ready' ? 100 : total ? Math.min(99, Math.floor((100 * bytesDone) / total)) : 0
  return { installId: id, status, bytesDone, bytesTotal: total, percent, log: linesOf(log), errorMessage }
}

/** Returns a text that changes whenever the progress changes. */
export const tagOf = (progress: InstallProgress): string => JSON.stringify(progress)

export const isOver = ({ status }: Pick<SdkInstall, 'status'>): boolean => status === 'ready' || status === 'failed'

const linesOf = (log: string): string[] => (log === '' ? [] : log.split('\n'))

/** Appends lines to a log and keeps the last 200. */
export const withLines = (log: string, added: readonly string[]): string =>
  [...linesOf(log), ...added.map((line) => line.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, maxLength))].slice(-maxLines).join('\n')
