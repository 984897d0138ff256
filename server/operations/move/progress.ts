import type { PlannedTable } from './plan.ts'
import type { Source } from './source.ts'
import type { Target } from './target.ts'

/** Progress of a move: the current step and table, and the number of processed rows or packages out of all. */
export type MoveProgress = { step: 'checking' | 'copying' | 'comparing' | 'indexing'; table: string; done: number; total: number }
/** Callback that receives the progress of a move. */
export type ReportProgress = (progress: MoveProgress) => void
/** A running move: the databases, the tables and the progress callback. */
export type Move = { source: Source; target: Target; tables: PlannedTable[]; report: ReportProgress }
