import { z } from 'zod'
import { handler } from '../../../platform/jobs/handler.ts'
import type { Services } from '../../../services.ts'
import { graceDays } from '../../../platform/store/collect.ts'
import { PackageVersion } from '../entity.ts'

/** Job kind for removing the archives of deleted versions. */
export const removalKind = 'archives.remove'

/**
 * Removes archives that no version uses any more from the store, along with their documentation. Removed archives are kept for a week so that they
 * can be restored. Deleted version numbers are never reused, so no later version can need the same archive. Downloads in progress are not
 * interrupted.
 */
export const archiveRemoval = (
  { database, blobs, now, log }: Pick<Services, 'database' | 'blobs' | 'now' | 'log'>,
  removePages: (sha256: string) => Promise<void>,
) =>
  handler(
    z.object({ hashes: z.array(z.string()), docs: z.array(z.string()).default([]) }),
    async ({ progress, signal }, { hashes, docs: pages }) => {
      const em = database.fork()
      for (const [index, sha256] of hashes.entries()) {
        signal.throwIfAborted()
        progress({ done: index, total: hashes.length })
        if (await em.count(PackageVersion, { archiveSha256: sha256 })) continue
        const bytes = await blobs.remove(sha256, { at: now() })
        if (bytes !== null)
          log.info(`removed archive ${sha256} (${bytes} bytes): its version was deleted. It can be restored for ${graceDays} days.`)
      }
      for (const sha256 of pages) await removePages(sha256)
      progress({ done: hashes.length, total: hashes.length })
    },
  )
