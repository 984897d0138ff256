import { readRows, changeRows } from '../../platform/db/statements.ts'
import { unavailable } from '../../platform/db/unavailable.ts'
import { serviceUnavailable, storageAway } from '../../errors.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import type { Services } from '../../services.ts'
import { areDocsOn } from './switch.ts'

/** The stored pages are missing or damaged, for example deleted, or left behind in a former documentation store. */
export class PagesLost extends Error {}

type RecoveryServices = Pick<Services, 'config' | 'database' | 'docs' | 'log' | 'now'>

/**
 * Removes lost pages from their versions and queues their regeneration, once for all concurrent requests. If documentation is switched off, records
 * an error instead.
 * @throws ApiError ServiceUnavailable while the store is unavailable or full, or the database is read-only: the pages may not be lost.
 */
export async function regenerateLost(services: RecoveryServices, sha256: string): Promise<void> {
  const { docs, database, log, now } = services
  await docs.check().catch((error: unknown) => {
    throw storageAway(error)
  })
  const isOn = await areDocsOn(services)
  const [state, error] = isOn ? ['pending', null] : ['failed', 'the pages are no longer in the store.']
  try {
    const versions = await database.fork().transactional(async (em) => {
      const rows = await readRows<{ id: string }>(em, 'select version_id as id from version_docs where sha256 = ?', [sha256])
      const set = 'sha256 = null, bytes = null, pages = 0, generated_at = null, state = ?, error = ?'
      await changeRows(em, `update version_docs set ${set} where sha256 = ?`, [state, error, sha256])
      if (isOn) for (const { id } of rows) await enqueue(em, { kind: 'analysis', subject: id }, now())
      return rows.length
    })
    // Delete damaged bytes, so that they are not mistaken for the regenerated ones.
    await docs.remove(sha256, { at: now() })
    if (versions > 0)
      log.warning(
        `documentation ${sha256} is missing or damaged${isOn ? ' and will be generated again' : ', and generating documentation is switched off'}`,
      )
  } catch (failure) {
    if (!unavailable(failure)) throw failure
    throw serviceUnavailable('This documentation is missing or damaged and cannot be regenerated at the moment.', 300)
  }
}
