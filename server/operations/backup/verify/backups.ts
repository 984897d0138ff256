import { notFound } from '../../../errors.ts'
import { listBackups, type Manifest, readManifest } from '../manifest.ts'
import { forEachConcurrently } from '../../../platform/store/transfer.ts'
import { parseBlobList } from '../blob-lists.ts'
import { linesIn } from '../place/files.ts'
import { type BackupPlace, blobKey, blobList, hashIn, type Report } from '../place/place.ts'
import { openPlace } from '../place/open.ts'
import type { PlaceConfig } from '../place/settings.ts'
import { type Findings, openFindings, type Verified } from './findings.ts'

/**
 * Verifies all backups in a location: the hash of every file, the contents of the database copies, and every blob that they refer to. Changes
 * nothing.
 * @throws ApiError NotFound when there is no backup.
 */
export async function verifyBackups(config: PlaceConfig, address: string, report?: Report): Promise<Verified> {
  const place = await openPlace(config, address)
  const ids = await listBackups(place)
  if (ids.length === 0) throw notFound(`There is no complete backup in ${place.name}.`)
  const findings = openFindings()
  const needed = new Map<string, number>()
  for (const [index, id] of ids.entries()) {
    report?.('Checking databases', { done: index, total: ids.length, unit: 'backups' })
    findings.count('backups')
    const manifest = await readManifest(place, id).catch((error: unknown) => {
      findings.add(id, reasonOf(error))
    })
    if (manifest) await verifySnapshot(place, manifest, needed, findings)
  }
  await verifyBlobs(place, needed, findings, report)
  return findings.result
}

async function verifySnapshot(place: BackupPlace, manifest: Manifest, needed: Map<string, number>, findings: Findings): Promise<void> {
  await using files = await place.fetchFiles(manifest.id, manifest.files)
  let isWhole = true
  for (const { name, sha256 } of manifest.files) {
    findings.count('files')
    const found = await files.hash(name)
    if (found === sha256) continue
    findings.add(files.nameOf(name), found === null ? 'is missing' : 'does not match the checksum in the manifest')
    isWhole = false
  }
  for (const { sha256, problem } of manifest.blobs.lacking)
    findings.add(manifest.id, `The blob ${sha256} was ${problem} on the server itself when the backup was created`)
  // The contents of a snapshot with missing or corrupt files are not verified further.
  if (!isWhole) return
  const lacking = new Set(manifest.blobs.lacking.map((one) => one.sha256))
  const listed = new Set<string>()
  for await (const { sha256, bytes } of parseBlobList(linesIn(files.read(blobList)), files.nameOf(blobList))) {
    listed.add(sha256)
    if (!lacking.has(sha256)) needed.set(sha256, bytes)
  }
  const { verifyCopy } = manifest.database === 'sqlite' ? await import('./sqlite.ts') : await import('./postgres.ts')
  await verifyCopy(files, manifest, listed, findings)
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Reads each blob that the backups need once and verifies its hash. `needed` maps hashes to sizes. */
async function verifyBlobs(place: BackupPlace, needed: ReadonlyMap<string, number>, findings: Findings, report?: Report): Promise<void> {
  const progress = { done: 0, bytes: 0 }
  async function* blobs() {
    yield* needed
  }
  await forEachConcurrently(blobs(), async ([sha256, bytes]) => {
    findings.count('blobs')
    progress.done++
    progress.bytes += bytes
    report?.('Checking archives', { ...progress, total: needed.size, unit: 'files' })
    const found = await hashIn(place, blobKey(sha256), bytes)
    if (found !== sha256)
      findings.add(place.nameOf(blobKey(sha256)), found === null ? 'is missing' : 'does not match the checksum in its name')
  })
}
