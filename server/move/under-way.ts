import type { PlannedTable } from './plan.ts'
import type { Source } from './source.ts'
import type { Target } from './target.ts'

/** How far a move is: what it does, in which table, and how many rows or packages of all are done. */
export type MoveProgress = { step: 'checking' | 'copying' | 'comparing' | 'indexing'; table: string; done: number; total: number }
/** Hears of every step. */
export type Tell = (progress: MoveProgress) => void
/** A move that is under way. */
export type Move = { source: Source; target: Target; tables: PlannedTable[]; tell: Tell }
