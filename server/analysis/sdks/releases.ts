import { ApiError, invalidInput } from '../../errors.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import type { Services } from '../../services.ts'
import { findDart, listDart } from './dart-archive.ts'
import { type SdkChannel, type SdkKind, sdkKinds } from './entity.ts'
import { findFlutter, listFlutter } from './flutter-archive.ts'
import type { Download, Release } from './archive-site.ts'

const keptMs = 3_600_000

declare module '../../services.ts' {
  interface State {
    /** Cached listings of SDK releases, by kind and channel. */
    sdkReleases?: Map<string, Kept>
  }
}

type Environment = Pick<Services, 'config' | 'now' | 'state'>

export type Wanted = { kind: SdkKind; version: string; channel: SdkChannel }

/** Releases of a channel, and a warning for each archive that could not be read. */
export type ReleaseListing = { releases: Release[]; warnings: string[] }

/**
 * Returns the newest releases of a channel, newest first, of both kinds unless `kind` is given. Cached for an hour. An unreadable archive adds a
 * warning. @throws ApiError ServiceUnavailable when none of the requested archives can be read.
 */
export async function listReleases(services: Environment, channel: SdkChannel, kind?: SdkKind | null): Promise<ReleaseListing> {
  const kinds = kind ? [kind] : sdkKinds
  const results = await Promise.allSettled(kinds.map((one) => cachedListing(services, one, channel)))
  const read = results.filter((result) => result.status === 'fulfilled')
  const failed = results.filter((result) => result.status === 'rejected')
  const unexpected = failed.find(({ reason }) => !(reason instanceof ApiError))
  if (failed[0] && (read.length === 0 || unexpected)) throw (unexpected ?? failed[0]).reason
  return { releases: read.flatMap(({ value }) => value), warnings: failed.map(({ reason }) => (reason as ApiError).message) }
}

/** Returns the download of a release for this platform, or null. @throws ApiError InvalidInput for an invalid version; ServiceUnavailable */
export function findRelease({ config }: Pick<Services, 'config'>, { kind, version, channel }: Wanted): Promise<Download | null> {
  requireVersion(version)
  return kind === 'dart' ? findDart(config, channel, version) : findFlutter(config, channel, version)
}

/** Validates a version before it becomes part of a URL, path or command line. @throws ApiError InvalidInput for an invalid version. */
export function requireVersion(version: string): void {
  if (!parseVersion(version))
    throw invalidInput(`version: ${JSON.stringify(version.slice(0, 80))} is not a valid version. Use a version such as 3.5.0.`, 'version')
}

type Kept = { readAt: number; listing: Promise<Release[]> }

/** Returns a cached listing. Concurrent callers share one request. Failed requests are not cached. */
function cachedListing({ config, now, state }: Environment, kind: SdkKind, channel: SdkChannel): Promise<Release[]> {
  const listings = (state.sdkReleases ??= new Map<string, Kept>())
  const key = `${kind} ${channel}`
  const known = listings.get(key)
  if (known && now().getTime() - known.readAt < keptMs) return known.listing
  const listing = (kind === 'dart' ? listDart : listFlutter)(config, channel)
  listings.set(key, { readAt: now().getTime(), listing })
  listing.catch(() => listings.get(key)?.listing === listing && listings.delete(key))
  return listing
}
