import { z } from 'zod'
import type { Config } from '../../platform/config/config.ts'
import { maxListing, readFrom, type Site, siteUnavailable, type Download, newest, type Release, sha256In } from './archive-site.ts'
import { type SdkChannel, sdkChannels } from './entity.ts'
import { thisPlatform } from './platform.ts'

// Layout of Flutter's archive: releases_<os>.json lists every release for an operating system, with the path and SHA-256 of its archive.

type Settings = Pick<Config, 'FLUTTER_ARCHIVE_URL'>

const siteOf = ({ FLUTTER_ARCHIVE_URL }: Settings): Site => ({
  name: 'Flutter archive',
  url: FLUTTER_ARCHIVE_URL,
  variable: 'FLUTTER_ARCHIVE_URL',
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

/** Lists the newest releases of a channel, newest first. @throws ApiError ServiceUnavailable */
export async function listFlutter(config: Settings, channel: SdkChannel): Promise<Release[]> {
  return newest((await readListing(config)).filter((release) => release.channel === channel)).map((release) => ({
    kind: 'flutter',
    version: release.version,
    channel,
    publishedAt: dateOf(release),
    // Extracts the version from `3.5.0` or `3.6.0 (build 3.6.0-149.3.beta)`.
    dartVersion: /(?<=build )[^)]+/.exec(release.dart_sdk_version ?? '')?.[0] ?? release.dart_sdk_version ?? null,
  }))
}

/** Returns the download of a release, or null if the channel does not have it for this platform. @throws ApiError ServiceUnavailable */
export async function findFlutter(config: Settings, channel: SdkChannel, version: string): Promise<Download | null> {
  const site = siteOf(config)
  const release = (await readListing(config)).find((one) => one.channel === channel && one.version === version)
  if (!release) return null
  const sha256 = sha256In(release.sha256)
  if (!sha256 || !isPath(release.archive)) throw siteUnavailable(site, new Error(`its entry for ${version} is invalid`))
  return { url: `${site.url.replace(/\/$/, '')}/${release.archive}`, sha256 }
}

/** Reads the releases for this platform. Releases without an architecture are for x64. */
async function readListing(config: Settings): Promise<Listed[]> {
  const site = siteOf(config)
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

function dateOf({ release_date: text = '' }: Listed): Date | null {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? null : date
}
