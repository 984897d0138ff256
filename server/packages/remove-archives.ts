import { z } from 'zod'
import { handler } from '../jobs/handler.ts'
import type { Services } from '../services.ts'
import { PackageVersion } from './entity.ts'

/** The kind of the jobs that remove the archives of deleted versions. */
export const removalKind = 'archives.remove'

/**
 * Removes archives that no version names any more. An archive names its package and version, whose number is never used again, so nobody can
 * need it later. Whoever is reading one reads on to its end.
 */
export const archiveRemoval = ({ database, blobs }: Pick<Services, 'database' | 'blobs'>) =>
  handler(z.object({ hashes: z.array(z.string()) }), async ({ progress }, { hashes }) => {
    const em = database.fork()
    for (const [index, sha256] of hashes.entries()) {
      progress({ done: index, total: hashes.length })
      if (!(await em.count(PackageVersion, { archiveSha256: sha256 }))) await blobs.remove(sha256)
    }
    progress({ done: hashes.length, total: hashes.length })
  })
