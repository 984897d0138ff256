import type { Services } from '../../services.ts'
import { collectArchives, describeHeldBack } from '../../platform/store/collect.ts'
import { isSetUp } from '../../platform/access/setup-gate.ts'
import { Upload } from './entity.ts'

const hourMs = 3_600_000

/**
 * Deletes the leftovers of uploads: unfinished uploads and their bytes one hour after expiry, results after a day, and bytes older than a day that
 * belong to no version. Does nothing before the setup is complete, because the server may be connected to the wrong database. The server calls this
 * periodically; concurrent calls from several instances are safe.
 */
export async function collectGarbage(
  services: Pick<Services, 'database' | 'state' | 'blobs' | 'now' | 'log'>,
): Promise<{ uploads: number; blobs: number }> {
  const { database, blobs, now, log } = services
  if (!(await isSetUp(services))) return { uploads: 0, blobs: 0 }
  const em = database.fork()
  const moment = now().getTime()
  const [hourAgo, dayAgo] = [new Date(moment - hourMs), new Date(moment - 24 * hourMs)]
  const abandoned = await em.find(Upload, { message: null, expiresAt: { $lt: hourAgo } })
  for (const { stagedAs } of abandoned) if (stagedAs) await blobs.discard(stagedAs)
  const uploads = await em.nativeDelete(Upload, { $or: [{ message: null, expiresAt: { $lt: hourAgo } }, { expiresAt: { $lt: dayAgo } }] })
  const { removed, heldBack } = await collectArchives({ em, blobs, now, say: (line) => log.info(`collecting: ${line}`) })
  if (heldBack) log.warning(`collecting: ${describeHeldBack(heldBack)}`)
  // If the collection is held back until an administrator confirms it, delete no staged bytes either.
  const staged = heldBack ? 0 : await blobs.collectStaged(dayAgo)
  return { uploads, blobs: removed.length + staged }
}
