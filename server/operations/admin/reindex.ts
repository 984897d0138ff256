import { sharedClock } from '../../platform/db/open/servers.ts'
import { rebuildIndex } from '../../registry/search/rebuild.ts'
import type { Operation, Outcome } from './command.ts'
import { counted } from './counted.ts'
import { showProgress } from './progress-line.ts'

/**
 * Rebuilds the search index of all packages while servers may be running. Continues an interrupted run.
 * @returns the message for the operator.
 */
export async function reindex({ em, config }: Operation): Promise<Outcome> {
  const progress = showProgress()
  const report = (done: number, total: number) => progress.update('Indexing', { done, total, unit: 'packages' })
  const indexed = await rebuildIndex({ em, config, now: await sharedClock(em, config) }, report)
  progress.end()
  return { text: `Reindexed ${counted(indexed, 'packages')}.`, data: { indexed } }
}
