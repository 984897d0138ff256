import { z } from 'zod'
import { handler } from '../../jobs/handler.ts'
import type { Services } from '../../services.ts'
import { graceDays } from '../../store/collect.ts'
import { PackageVersion } from '../entity.ts'

/** The kind of the jobs that remove the archives of deleted versions. */
export const removalKind = 'archives.remove'

/**
 * Takes archives out of the store that no version names any more, and their documentation; they are kept aside for a week. An archive names its package and version,
 * whose number is never used again, so no new version can need it later. Whoever is reading one reads on to its end.
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
          log.info(`removed archive ${sha256} (${bytes} bytes): its version was deleted. It is kept aside for ${graceDays} days.`)
      }
      for (const sha256 of pages) await removePages(sha256)
      progress({ done: hashes.length, total: hashes.length })
    },
  )
