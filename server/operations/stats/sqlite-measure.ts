import { openThreadPool } from '../../platform/threads/pool.ts'
import type { Sizes } from './relations.ts'

const ask = openThreadPool(new URL('./sqlite-worker.ts', import.meta.url), { deadlineMs: 600_000, idleMs: 0, memory: {} })

/** Measures an SQLite file in a worker thread, as far as `budgetMs` allows. @throws ThreadFailed */
export const measureSqlite = (path: string, budgetMs: number): Promise<Sizes> => ask({ path, budgetMs }) as Promise<Sizes>
