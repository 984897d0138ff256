import type { Services } from '../services.ts'
import { collectArchives, describeHeldBack } from '../store/collect.ts'
import { isSetUp } from '../access/setup-gate.ts'
import { Upload } from './entity.ts'

const hourMs = 3_600_000

/**
 * Removes what uploads leave behind: announcements an hour after they expired, with their bytes; answers after a day; and bytes that
 * are older than a day and belong to no version. Nothing goes before the setup is done: until then the database may be the wrong one.
 * The server calls it now and then; any number of instances may.
 */
export async function collectGarbage(
  services: Pick<Services, 'database' | 'blobs' | 'now' | 'log'>,
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
  // Held back, nothing at all is removed.
  const staged = heldBack ? 0 : await blobs.collectStaged(dayAgo)
  return { uploads, blobs: removed.length + staged }
}
