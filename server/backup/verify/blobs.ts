import { forEachOf } from '../at-once.ts'
import { blobKey } from '../place/layout.ts'
import { type BackupPlace, hashIn } from '../place/place.ts'
import type { Findings } from './findings.ts'

/** Reads every blob that the backups in a place need, each once. */
export async function verifyBlobs(place: BackupPlace, needed: ReadonlySet<string>, findings: Findings): Promise<void> {
  async function* hashes() {
    yield* needed
  }
  await forEachOf(hashes(), async (sha256) => {
    findings.count('blobs')
    const found = await hashIn(place, blobKey(sha256))
    if (found !== sha256) findings.add(place.nameOf(blobKey(sha256)), found === null ? 'is missing' : 'has other bytes than its name says')
  })
}
