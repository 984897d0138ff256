import { existsSync } from 'node:fs'
import { forEachOf } from '../at-once.ts'
import { hashFile } from '../files.ts'
import type { Places } from '../layout.ts'
import type { Findings } from './findings.ts'

/** Reads every blob that the backups in a folder need, each once. */
export async function verifyBlobs(places: Places, needed: ReadonlySet<string>, findings: Findings): Promise<void> {
  async function* hashes() {
    yield* needed
  }
  await forEachOf(hashes(), async (sha256) => {
    const path = places.blob(sha256)
    findings.count('blobs')
    if (!existsSync(path)) return findings.add(path, 'is missing')
    if ((await hashFile(path)).sha256 !== sha256) findings.add(path, 'has other bytes than its name says')
  })
}
