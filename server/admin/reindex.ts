import { sharedClock } from '../db/postgres/shared-clock.ts'
import { rebuildIndex } from '../search/rebuild.ts'
import type { Operation, Outcome } from './command.ts'
import { counted } from './counted.ts'
import { showProgress } from './progress-line.ts'

/**
 * Indexes every package anew for search, beside servers that may be running; where an earlier run was interrupted, it goes on.
 * @returns what to tell the operator.
 */
export async function reindex({ em, config }: Operation): Promise<Outcome> {
  const progress = showProgress()
  const report = (done: number, total: number) => progress.tell('Indexing', { done, total, unit: 'packages' })
  const indexed = await rebuildIndex({ em, config, now: await sharedClock(em, config) }, report)
  progress.end()
  return { text: `Indexed ${counted(indexed, 'packages')} anew.`, data: { indexed } }
}
