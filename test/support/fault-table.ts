/** Results of a fault. All counts must be zero, and writes must succeed again within five seconds. */
export type FaultRow = {
  /** The fault and the number of publishes during it: "SIGKILL during 1000 publishes". */
  fault: string
  database: 'sqlite' | 'postgres'
  /** Acknowledged versions that are not listed, or are not served with the same bytes. */
  lost: number
  /** Versions that only some APIs return, or that are listed without their archive. */
  halfVisible: number
  /** Versions that are stored or recorded more than once. */
  doubled: number
  /** Files, uploads and leases that remain after garbage collection. */
  leftOver: number
  /** Maximum time from the end of a fault to the next successful write, in seconds. */
  seconds: number
}

declare module 'vitest' {
  interface TaskMeta {
    faults?: FaultRow[]
  }
}

/** Maximum time in seconds from the end of a fault until writes succeed again. Machines that need longer than a third of it for a start get more time. */
export const maxSecondsToWrite = 5

/** Whether the full number of publishes is used, as by `npm run faults`. `npm run test:faults` uses fewer. */
export const isFullRun = process.env.npm_lifecycle_event === 'faults'

/** Returns the table as text with one line per fault. */
export function faultTable(rows: readonly FaultRow[]): string {
  const columns = ['database', 'lost', 'half-visible', 'doubled', 'left over', 'seconds'] as const
  const width = Math.max(...rows.map(({ fault }) => fault.length), 5)
  const lines = rows.map(({ fault, database, lost, halfVisible, doubled, leftOver, seconds }) => {
    const cells = [database, lost, halfVisible, doubled, leftOver, seconds.toFixed(1)]
    return fault.padEnd(width) + cells.map((cell, index) => `  ${String(cell).padStart(columns[index]?.length ?? 0)}`).join('')
  })
  return [`${'fault'.padEnd(width)}${columns.map((column) => `  ${column}`).join('')}`, ...lines].join('\n')
}
