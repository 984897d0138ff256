import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { notFound } from '../../errors.ts'
import { hashFile } from '../files.ts'
import { blobList, listSnapshots, type Places, placesIn } from '../layout.ts'
import { type Manifest, readManifest } from '../manifest.ts'
import { readBlobList } from '../named-blobs.ts'
import { type Findings, openFindings, type Verified } from './findings.ts'
import { verifyBlobs } from './blobs.ts'

/**
 * Reads all backups in a folder: every file against its hash, what is in the copies of the database, and every blob that they name. Changes
 * nothing.
 * @throws ApiError NotFound when there is none.
 */
export async function verifyBackups(folder: string): Promise<Verified> {
  const places = placesIn(resolve(folder))
  const whole = (await listSnapshots(places)).filter(({ isWhole }) => isWhole)
  if (whole.length === 0) throw notFound(`There is no complete backup in ${places.root}.`)
  const findings = openFindings()
  const needed = new Set<string>()
  for (const { id } of whole) {
    findings.count('backups')
    const manifest = await readManifest(places, id).catch((error: unknown) => {
      findings.add(id, reasonOf(error))
    })
    if (manifest) await verifySnapshot(places, manifest, needed, findings)
  }
  await verifyBlobs(places, needed, findings)
  return findings.result
}

async function verifySnapshot(places: Places, manifest: Manifest, needed: Set<string>, findings: Findings): Promise<void> {
  const folder = places.snapshot(manifest.id)
  let isWhole = true
  for (const { name, sha256 } of manifest.files) {
    const path = join(folder, name)
    findings.count('files')
    const problem = existsSync(path) ? (await hashFile(path)).sha256 !== sha256 && 'has other bytes than the manifest says' : 'is missing'
    if (problem) findings.add(path, problem)
    isWhole &&= !problem
  }
  for (const { sha256, problem } of manifest.blobs.lacking)
    findings.add(manifest.id, `The server itself had ${sha256} only ${problem} when it was backed up`)
  // What is damaged cannot be read for more.
  if (!isWhole) return
  const lacking = new Set(manifest.blobs.lacking.map((one) => one.sha256))
  const listed = new Set<string>()
  for await (const { sha256 } of readBlobList(join(folder, blobList))) {
    listed.add(sha256)
    if (!lacking.has(sha256)) needed.add(sha256)
  }
  const { verifyCopy } = manifest.database === 'sqlite' ? await import('./sqlite-copy.ts') : await import('./postgres-copy.ts')
  await verifyCopy(folder, manifest, listed, findings)
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
