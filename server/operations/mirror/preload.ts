import { fetchWholeArchive } from '../../registry/mirror/archives.ts'
import { documentState, readDocument } from '../../registry/mirror/documents.ts'
import { findEntry, forgetFile, mirrorFiles, type MirrorServices } from '../../registry/mirror/entries.ts'
import { isAdvised, type MirroredListing } from '../../registry/mirror/listing.ts'
import { forEachConcurrently } from '../../platform/store/transfer.ts'
import type { LockedPackage } from '../../registry/upgrades/lock-file.ts'
import { hashProblem, hostedIn, isFromUpstream, type LockText } from './lock-files.ts'
import { excessOf, type Mirror, type Note, readListing, mirrorExclusionReason } from './services.ts'

/** What the mirror has of the packages in lock files. `fetched` and `bytes`: archives that this run fetched. `excess`: see `excessOf`. */
export type Preloaded = {
  packages: number
  versions: number
  fetched: number
  bytes: number
  excess: number
  skipped: Note[]
  missing: Note[]
}

type Progress = (done: number, total: number) => void

/** Fetches everything that lock files name into the mirror. What it already has is not fetched again. @throws ApiError InvalidInput */
export async function preload(mirror: Mirror, files: readonly LockText[], report: Progress): Promise<Preloaded> {
  const result: Preloaded = { packages: 0, versions: 0, fetched: 0, bytes: 0, excess: 0, skipped: [], missing: [] }
  const wanted = wantedIn(mirror, files, result.skipped)
  async function* each() {
    yield* wanted
  }
  let done = 0
  await forEachConcurrently(each(), async ([name, locked]) => {
    await preloadPackage(mirror.services, name, locked, result)
    report(++done, wanted.size)
  })
  result.excess = await excessOf(mirror.services)
  result.skipped.sort(byName)
  result.missing.sort(byName)
  return result
}

const byName = (a: Note, b: Note) => (a.what < b.what ? -1 : 1)

/** Returns the packages of the upstream server in lock files by name, each version and hash once. */
function wantedIn(mirror: Mirror, files: readonly LockText[], skipped: Note[]): Map<string, LockedPackage[]> {
  const wanted = new Map<string, LockedPackage[]>()
  const seen = new Set<string>()
  for (const locked of files.flatMap(hostedIn)) {
    const { name, version, hostedUrl, sha256 } = locked
    const id = JSON.stringify([name, version, hostedUrl, sha256])
    if (seen.has(id)) continue
    seen.add(id)
    if (isFromUpstream(mirror, locked)) wanted.set(name, [...(wanted.get(name) ?? []), locked])
    else skipped.push({ what: `${name} ${version}`, reason: `It is hosted at ${hostedUrl ?? 'pub.dev'}.` })
  }
  return wanted
}

async function preloadPackage(services: MirrorServices, name: string, locked: readonly LockedPackage[], result: Preloaded): Promise<void> {
  const all = (reason: string) => result.missing.push(...locked.map(({ version }) => ({ what: `${name} ${version}`, reason })))
  try {
    const excluded = await mirrorExclusionReason(services, name)
    if (excluded !== null) return void all(excluded)
    const listing = await currentListing(services, name, locked)
    if (!listing) return void all('The upstream server has no such package.')
    result.packages++
    await preloadDocuments(services, listing)
    for (const one of locked) await preloadVersion(services, listing, one, result)
  } catch (error) {
    all(messageOf(error))
  }
}

/** Returns the listing, fetched again if it lacks a version, which may have been published since. */
async function currentListing(services: MirrorServices, name: string, locked: readonly LockedPackage[]): Promise<MirroredListing | null> {
  const found = await readListing(services, name)
  const lacks = locked.some(({ version }) => !found?.listing.versions.some((one) => one.version === version))
  if (found && !lacks) return found.listing
  await documentState(services, 'listing', name, { newerThan: services.now() })
  return (await readListing(services, name))?.listing ?? null
}

/** Fetches the advisories, if the listing mentions any, and the score, whose tags policies use. */
async function preloadDocuments(services: MirrorServices, listing: MirroredListing): Promise<void> {
  const { name } = listing
  const checkedAt = (await findEntry(services, { kind: 'listing', name }))?.checkedAt ?? undefined
  if (isAdvised(listing)) await readDocument(services, 'advisories', name, { newerThan: checkedAt })
  // Not every server has scores. Clients work without them.
  await readDocument(services, 'score', name).catch(() => null)
}

async function preloadVersion(
  services: MirrorServices,
  listing: MirroredListing,
  { name, version, sha256 }: LockedPackage,
  result: Preloaded,
): Promise<void> {
  const what = `${name} ${version}`
  const listed = listing.versions.find((one) => one.version === version)
  const problem = sha256 === null && listed ? null : hashProblem(listing, { version, sha256 })
  if (problem !== null || !listed) return void result.missing.push({ what, reason: problem ?? '' })
  try {
    if (!(await hasArchive(services, name, version))) {
      const { bytes } = await fetchWholeArchive(services, { ...listed, name, caller: 'mirror-fetch' })
      result.fetched++
      result.bytes += bytes
    }
    // Not every version has an attestation.
    await readDocument(services, 'attestation', name, { version, caller: 'mirror-fetch' }).catch(() => null)
    result.versions++
  } catch (error) {
    result.missing.push({ what, reason: messageOf(error) })
  }
}

/** Returns whether the mirror has an archive. Its file may be gone, for example after a restore; then its row is corrected. */
async function hasArchive(services: MirrorServices, name: string, version: string): Promise<boolean> {
  const key = { kind: 'archive', name, version } as const
  const entry = await findEntry(services, key)
  if (!entry?.sha256) return false
  if (await (await mirrorFiles.store(services)).has(entry.sha256)) return true
  await forgetFile(services, key, entry.sha256)
  return false
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
