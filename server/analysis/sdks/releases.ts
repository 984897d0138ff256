import type { Config } from '../../platform/config/config.ts'
import { ApiError, invalidInput } from '../../errors.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import type { Services } from '../../services.ts'
import { type SdkChannel, type SdkKind, sdkKinds, sdkChannels } from './entity.ts'
import { type Download, type Release, maxListing, readFrom, type Site, siteUnavailable, newest, parseSha256 } from './archive-site.ts'
import { thisPlatform } from './platform.ts'
import { z } from 'zod'
import type { ProxySettings } from '../../platform/outbound/proxy.ts'

const keptMs = 3_600_000

declare module '../../services.ts' {
  interface State {
    /** Cached listings of SDK releases, by kind and channel. */
    sdkReleases?: Map<string, Kept>
  }
}

/** Settings with the URLs of the archives, and how they are reached. */
type Archives = Pick<Config, 'SDK_ARCHIVE_URL' | 'FLUTTER_ARCHIVE_URL'> & ProxySettings
type Environment = Pick<Services, 'config' | 'now' | 'state'>

export type Wanted = { kind: SdkKind; version: string; channel: SdkChannel }

/**
 * Returns the newest releases of a channel, newest first, of both kinds unless `kind` is given. Cached for an hour. An unreadable archive adds a
 * warning. @throws ApiError ServiceUnavailable when none of the requested archives can be read.
 */
export async function listReleases(services: Environment, channel: SdkChannel, kind?: SdkKind | null) {
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
  requireSdkVersion(version)
  return kind === 'dart' ? findDart(config, channel, version) : findFlutter(config, channel, version)
}

/** Validates a version before it becomes part of a URL, path or command line. @throws ApiError InvalidInput for an invalid version. */
export function requireSdkVersion(version: string): void {
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

// Layout of Google's Dart archive: a Google Cloud Storage bucket that lists prefixes as XML, like S3. Each channels/<channel>/release/<version>/
// contains VERSION (JSON) and sdk/dartsdk-<os>-<arch>-release.zip with its .sha256sum.

const dartSite = (config: Archives): Site => ({
  name: 'Dart archive',
  url: config.SDK_ARCHIVE_URL,
  variable: 'SDK_ARCHIVE_URL',
  proxies: config,
})

async function listDart(config: Archives, channel: SdkChannel): Promise<Release[]> {
  const deadline = AbortSignal.timeout(listingMs)
  const versions = newest((await listVersions(dartSite(config), channel, deadline)).map((version) => ({ version })))
  const releases: Release[] = []
  const rest = versions.entries()
  const next = async () => {
    for (const [index, { version }] of rest) {
      const found = await readVersion(config, channel, version, deadline)
      releases[index] = { kind: 'dart', version, channel, publishedAt: found?.publishedAt ?? null, dartVersion: version }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, next))
  return releases
}

async function findDart(config: Archives, channel: SdkChannel, version: string): Promise<Download | null> {
  if (!(await readVersion(config, channel, version))) return null
  const url = `${folderOf(config, channel, version)}/sdk/dartsdk-${thisPlatform().sdkPlatform}-release.zip`
  const text = await readFrom(dartSite(config), `${url}.sha256sum`)
  if (text === null) return null
  const sha256 = parseSha256(text)
  if (!sha256) throw siteUnavailable(dartSite(config), new Error(`${url}.sha256sum is not a SHA-256 checksum`))
  return { url, sha256 }
}

const concurrency = 8
const listingMs = 60_000
/** A page of the listing has up to 1,000 versions. */
const maxPages = 5

const folderOf = ({ SDK_ARCHIVE_URL }: Archives, channel: SdkChannel, version: string) =>
  `${SDK_ARCHIVE_URL.replace(/\/$/, '')}/channels/${channel}/release/${encodeURIComponent(version)}`

async function listVersions(site: Site, channel: SdkChannel, deadline: AbortSignal): Promise<string[]> {
  const prefix = `channels/${channel}/release/`
  const found: string[] = []
  let marker: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const query = new URLSearchParams({ prefix, delimiter: '/', ...(marker && { marker }) })
    const text = await readFrom(site, `${site.url}?${query}`, { maxBytes: maxListing, deadline })
    if (text === null || !text.includes('<ListBucketResult')) throw siteUnavailable(site, new Error('it returns no listing'))
    for (const [, path = ''] of text.matchAll(/<Prefix>([^<]*)<\/Prefix>/g))
      if (path.startsWith(prefix) && path.endsWith('/')) found.push(path.slice(prefix.length, -1))
    marker = /<NextMarker>([^<]*)<\/NextMarker>/.exec(text)?.[1]
    if (!marker) break
  }
  return found
}

async function readVersion(config: Archives, channel: SdkChannel, version: string, deadline?: AbortSignal) {
  const text = await readFrom(dartSite(config), `${folderOf(config, channel, version)}/VERSION`, { ...(deadline && { deadline }) })
  return text === null ? null : { publishedAt: dateIn(text) }
}

/** Finds a date such as `"date": "2024-08-06"`, or `"date": "201311121112"` as in older releases. */
function dateIn(text: string): Date | null {
  const [, year, month, day] = /"date"\s*:\s*"(\d{4})-?(\d\d)-?(\d\d)/.exec(text) ?? []
  return validDate(`${year}-${month}-${day}T00:00:00Z`)
}

// Layout of Flutter's archive: releases_<os>.json lists every release for an operating system, with the path and SHA-256 of its archive.

const flutterSite = (config: Archives): Site => ({
  name: 'Flutter archive',
  url: config.FLUTTER_ARCHIVE_URL,
  variable: 'FLUTTER_ARCHIVE_URL',
  proxies: config,
})

const releaseShape = z.object({
  channel: z.string(),
  version: z.string(),
  release_date: z.string().optional(),
  dart_sdk_version: z.string().optional(),
  dart_sdk_arch: z.string().optional(),
  archive: z.string(),
  sha256: z.string(),
})
/** Upper bound well above the real number of releases, so that a hostile listing cannot keep the server busy. */
const listingShape = z.object({ releases: z.array(releaseShape).max(20_000) })
type Listed = z.infer<typeof releaseShape>

async function listFlutter(config: Archives, channel: SdkChannel): Promise<Release[]> {
  return newest((await readListing(config)).filter((release) => release.channel === channel)).map((release) => ({
    kind: 'flutter',
    version: release.version,
    channel,
    publishedAt: validDate(release.release_date ?? ''),
    // Extracts the version from `3.5.0` or `3.6.0 (build 3.6.0-149.3.beta)`.
    dartVersion: /(?<=build )[^)]+/.exec(release.dart_sdk_version ?? '')?.[0] ?? release.dart_sdk_version ?? null,
  }))
}

async function findFlutter(config: Archives, channel: SdkChannel, version: string): Promise<Download | null> {
  const site = flutterSite(config)
  const release = (await readListing(config)).find((one) => one.channel === channel && one.version === version)
  if (!release) return null
  const sha256 = parseSha256(release.sha256)
  if (!sha256 || !isPath(release.archive)) throw siteUnavailable(site, new Error(`its entry for ${version} is invalid`))
  return { url: `${site.url.replace(/\/$/, '')}/${release.archive}`, sha256 }
}

/** Reads the releases for this platform. Releases without an architecture are for x64. */
async function readListing(config: Archives): Promise<Listed[]> {
  const site = flutterSite(config)
  const { os, arch } = thisPlatform()
  const text = await readFrom(site, `${site.url.replace(/\/$/, '')}/releases_${os}.json`, { maxBytes: maxListing })
  if (text === null) throw siteUnavailable(site, new Error(`it has no releases_${os}.json`))
  const { data, error } = listingShape.safeParse(parse(site, text))
  if (!data) throw siteUnavailable(site, new Error(`releases_${os}.json has an unexpected format: ${error.issues[0]?.message}`))
  const channels: readonly string[] = sdkChannels
  return data.releases.filter((release) => channels.includes(release.channel) && (release.dart_sdk_arch ?? 'x64') === arch)
}

function parse(site: Site, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw siteUnavailable(site, new Error('its list of releases is not JSON'))
  }
}

/** Whether the text is a plain relative path without `..` segments. */
const isPath = (path: string) => /^[\w.+-]+(\/[\w.+-]+)*$/.test(path) && !path.split('/').includes('..')

function validDate(text: string): Date | null {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? null : date
}
