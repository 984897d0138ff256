import { readRows, changeRows } from '../db/statements.ts'
import { unavailable } from '../db/unavailable.ts'
import { serviceUnavailable, storageAway } from '../errors.ts'
import { enqueue } from '../jobs/queue.ts'
import type { Services } from '../services.ts'
import { areDocsOn } from './switch.ts'

/** The store does not have pages as they were stored: they were deleted or damaged, or are where documentation was kept before. */
export class PagesLost extends Error {}

type Surroundings = Pick<Services, 'config' | 'database' | 'docs' | 'log' | 'now'>

/**
 * Has lost pages made anew, once for all who ask: from then on, their versions have no documentation yet. Where none is generated, it says so.
 * @throws ApiError ServiceUnavailable while the store is away or full, or nothing can be written down: then they may come back.
 */
export async function replaceLost(services: Surroundings, sha256: string): Promise<void> {
  const { docs, database, log, now } = services
  await docs.check().catch((error: unknown) => {
    throw storageAway(error)
  })
  const isOn = await areDocsOn(services)
  const [state, error] = isOn ? ['pending', null] : ['failed', 'the pages are not in the store any more.']
  try {
    const versions = await database.fork().transactional(async (em) => {
      const rows = await readRows<{ id: string }>(em, 'select version_id as id from version_docs where sha256 = ?', [sha256])
      const set = 'sha256 = null, bytes = null, pages = 0, generated_at = null, state = ?, error = ?'
      await changeRows(em, `update version_docs set ${set} where sha256 = ?`, [state, error, sha256])
      if (isOn) for (const { id } of rows) await enqueue(em, { kind: 'analysis', subject: id }, now())
      return rows.length
    })
    // What is damaged must not be taken for what is made anew.
    await docs.remove(sha256, { at: now() })
    if (versions > 0) log.warning(`documentation ${sha256} is missing or damaged${isOn ? ': it is made anew' : ', and none is generated'}`)
  } catch (failure) {
    if (!unavailable(failure)) throw failure
    throw serviceUnavailable('This documentation is missing or damaged, and cannot be generated again at the moment.', 300)
  }
}
