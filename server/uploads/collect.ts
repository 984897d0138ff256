import type { EntityManager } from '@mikro-orm/sql'
import { PackageVersion } from '../packages/entity.ts'
import type { Services } from '../services.ts'
import { Upload } from './entity.ts'

const hourMs = 3_600_000

/**
 * Removes what uploads leave behind: announcements an hour after they expired, with their bytes; answers after a day; and bytes that
 * are older than a day and belong to no version. The server calls it now and then; any number of instances may.
 */
export async function collectGarbage({
  database,
  blobs,
  now,
}: Pick<Services, 'database' | 'blobs' | 'now'>): Promise<{ uploads: number; blobs: number }> {
  const em = database.fork()
  const moment = now().getTime()
  const [hourAgo, dayAgo] = [new Date(moment - hourMs), new Date(moment - 24 * hourMs)]
  const abandoned = await em.find(Upload, { message: null, expiresAt: { $lt: hourAgo } })
  for (const { stagedAs } of abandoned) if (stagedAs) await blobs.discard(stagedAs)
  const uploads = await em.nativeDelete(Upload, { $or: [{ message: null, expiresAt: { $lt: hourAgo } }, { expiresAt: { $lt: dayAgo } }] })
  const { removed } = await blobs.collect(dayAgo, (hashes) => namedByVersions(em, hashes))
  return { uploads, blobs: removed }
}

async function namedByVersions(em: EntityManager, hashes: string[]): Promise<ReadonlySet<string>> {
  const versions = await em.find(
    PackageVersion,
    { archiveSha256: { $in: hashes } },
    { fields: ['archiveSha256'], disableIdentityMap: true },
  )
  return new Set(versions.map(({ archiveSha256 }) => archiveSha256))
}
