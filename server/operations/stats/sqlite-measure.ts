import { Worker } from 'node:worker_threads'
import type { Sizes } from './relations.ts'

/** Measures an SQLite file in a worker thread. Rejects if that fails. */
export function measureSqlite(path: string, budgetMs: number): Promise<Sizes> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData: { path, budgetMs } })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread ended without a result')))
    // The worker does not keep the process alive.
    worker.unref()
  })
}
