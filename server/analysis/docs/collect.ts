import { isSetUp } from '../../platform/access/setup-gate.ts'
import type { Services } from '../../services.ts'
import { areRemovalsHeld } from '../../platform/store/hold.ts'

const dayMs = 86_400_000
const batchSize = 500

/**
 * Deletes orphaned documentation older than a day from a separate documentation store (DOCS_BACKEND=filesystem). In a store shared with the archives,
 * documentation is collected together with them. Documentation can be regenerated, so it is deleted immediately. Returns the number of deleted files.
 */
export async function collectDocs(
  services: Pick<Services, 'database' | 'state' | 'docs' | 'blobs' | 'config' | 'now' | 'log'>,
): Promise<number> {
  const { database, docs, blobs, now, log } = services
  if (docs === blobs || !(await isSetUp(services))) return 0
  const [at, dayAgo] = [now(), new Date(now().getTime() - dayMs)]
  let removed = 0
  for await (const batch of batches(docs.list())) {
    const hashes = batch.filter(({ storedAt }) => storedAt < dayAgo).map(({ sha256 }) => sha256)
    if (hashes.length === 0) continue
    const rows: { sha256: string }[] = await database
      .fork()
      .execute(`select sha256 from version_docs where sha256 in (${hashes.map(() => '?').join(', ')})`, hashes)
    const named = new Set(rows.map(({ sha256 }) => sha256))
    for (const sha256 of hashes) if (!named.has(sha256) && (await docs.remove(sha256, { at, before: dayAgo })) !== null) removed += 1
  }
  await docs.collectStaged(dayAgo)
  // Keep removed files until no running backup can need them.
  if (!(await areRemovalsHeld(database.fork(), at))) await docs.purge(new Date(at.getTime() + 1))
  if (removed > 0) log.info(`collecting: removed the documentation of ${removed} versions that were deleted or have newer pages`)
  return removed
}

async function* batches<Entry>(entries: AsyncIterable<Entry>): AsyncGenerator<Entry[]> {
  let batch: Entry[] = []
  for await (const entry of entries) {
    batch.push(entry)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
