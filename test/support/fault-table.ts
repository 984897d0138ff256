/** How many of these came out of a fault. All must be zero, and writing must work again within five seconds. */
export type FaultRow = {
  /** What was done to the server, and to how much work: "SIGKILL during 1000 publishes". */
  fault: string
  database: 'sqlite' | 'postgres'
  /** Versions whose publishing was acknowledged, and that are not listed or not served with the same bytes. */
  lost: number
  /** Versions that some doors show and others do not, or that are listed without their archive. */
  halfVisible: number
  /** Versions that are there, or were recorded, more than once. */
  doubled: number
  /** What stays behind after everything that can be collected was collected: bytes, announcements, leases. */
  leftOver: number
  /** The longest time from the end of a fault until a write succeeded, in seconds. */
  seconds: number
}

declare module 'vitest' {
  interface TaskMeta {
    faults?: FaultRow[]
  }
}

/** Five seconds after a fault has ended, writing works. */
export const maxSecondsToWrite = 5

/** Whether all of the faults' work is to be done (`npm run faults`), or as much as a run of all tests has time for. */
export const isFullRun = process.env.FAULTS === 'full'

/** The table as text, one line for each fault. */
export function faultTable(rows: readonly FaultRow[]): string {
  const columns = ['database', 'lost', 'half-visible', 'doubled', 'left over', 'seconds'] as const
  const width = Math.max(...rows.map(({ fault }) => fault.length), 5)
  const lines = rows.map(({ fault, database, lost, halfVisible, doubled, leftOver, seconds }) => {
    const cells = [database, lost, halfVisible, doubled, leftOver, seconds.toFixed(1)]
    return fault.padEnd(width) + cells.map((cell, index) => `  ${String(cell).padStart(columns[index]?.length ?? 0)}`).join('')
  })
  return [`${'fault'.padEnd(width)}${columns.map((column) => `  ${column}`).join('')}`, ...lines].join('\n')
}
