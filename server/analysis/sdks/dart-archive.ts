import { z } from 'zod'
import type { Config } from '../../platform/config/config.ts'
import { maxListing, readFrom, type Site, siteUnavailable, type Download, newest, type Release, sha256In } from './archive-site.ts'
import type { SdkChannel } from './entity.ts'
import { thisPlatform } from './platform.ts'

// Layout of Google's Dart archive: a Google Cloud Storage bucket that lists prefixes as XML, like S3. Each channels/<channel>/release/<version>/
// contains VERSION (JSON) and sdk/dartsdk-<os>-<arch>-release.zip with its .sha256sum.

type Settings = Pick<Config, 'SDK_ARCHIVE_URL'>

const siteOf = ({ SDK_ARCHIVE_URL }: Settings): Site => ({ name: 'Dart archive', url: SDK_ARCHIVE_URL, variable: 'SDK_ARCHIVE_URL' })

/** Lists the newest releases of a channel, newest first. @throws ApiError ServiceUnavailable */
export async function listDart(config: Settings, channel: SdkChannel): Promise<Release[]> {
  const deadline = AbortSignal.timeout(listingMs)
  const versions = newest((await listVersions(siteOf(config), channel, deadline)).map((version) => ({ version })))
  const releases: Release[] = []
  const rest = versions.entries()
  const next = async () => {
    for (const [index, { version }] of rest) {
      const { publishedAt } = (await readVersion(config, { channel, version }, deadline)) ?? { publishedAt: null }
      releases[index] = { kind: 'dart', version, channel, publishedAt, dartVersion: version }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, next))
  return releases
}

/** Returns the download of a release, or null if the channel does not have it for this platform. @throws ApiError ServiceUnavailable */
export async function findDart(config: Settings, channel: SdkChannel, version: string): Promise<Download | null> {
  if (!(await readVersion(config, { channel, version }))) return null
  const { sdkPlatform } = thisPlatform()
  const url = `${folderOf(config, channel, version)}/sdk/dartsdk-${sdkPlatform}-release.zip`
  const text = await readFrom(siteOf(config), `${url}.sha256sum`)
  if (text === null) return null
  const sha256 = sha256In(text)
  if (!sha256) throw siteUnavailable(siteOf(config), new Error(`${url}.sha256sum is not a SHA-256 checksum`))
  return { url, sha256 }
}

const concurrency = 8
const listingMs = 60_000
/** A page of the listing has up to 1,000 versions. */
const maxPages = 5

const folderOf = ({ SDK_ARCHIVE_URL }: Settings, channel: SdkChannel, version: string) =>
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

const described = z.object({ version: z.string(), date: z.string().default('') })

type Named = { channel: SdkChannel; version: string }

async function readVersion(
  config: Settings,
  { channel, version }: Named,
  deadline?: AbortSignal,
): Promise<{ publishedAt: Date | null } | null> {
  const text = await readFrom(siteOf(config), `${folderOf(config, channel, version)}/VERSION`, { ...(deadline && { deadline }) })
  if (text === null) return null
  return { publishedAt: dateIn(text) }
}

/** Parses `2024-08-06`, or `201311121112` as in older releases. */
function dateIn(text: string): Date | null {
  const [, year, month, day] = /^(\d{4})-?(\d\d)-?(\d\d)/.exec(described.safeParse(jsonIn(text)).data?.date ?? '') ?? []
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return Number.isNaN(date.getTime()) ? null : date
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
