import { forEachConcurrently } from '../concurrency.ts'
import { blobKey } from '../place/layout.ts'
import { type BackupPlace, hashIn } from '../place/place.ts'
import type { Findings } from './findings.ts'

/** Reads each blob that the backups need once and verifies its hash. `needed` maps hashes to sizes. */
export async function verifyBlobs(place: BackupPlace, needed: ReadonlyMap<string, number>, findings: Findings): Promise<void> {
  async function* blobs() {
    yield* needed
  }
  await forEachConcurrently(blobs(), async ([sha256, bytes]) => {
    findings.count('blobs')
    const found = await hashIn(place, blobKey(sha256), bytes)
    if (found !== sha256)
      findings.add(place.nameOf(blobKey(sha256)), found === null ? 'is missing' : 'does not match the checksum in its name')
  })
}
