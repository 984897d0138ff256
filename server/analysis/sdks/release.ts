import { compareParsed, parseVersion } from '../../platform/pub/version.ts'
import type { SdkChannel, SdkKind } from './entity.ts'

/** A release of an SDK that can be installed. */
export type Release = {
  kind: SdkKind
  version: string
  channel: SdkChannel
  /** Null when the archive does not state the date. */
  publishedAt: Date | null
  /** Version of the included Dart SDK. */
  dartVersion: string | null
}

/** URL and checksum of a release's archive for this platform. */
export type Download = { url: string; sha256: string }

/** Maximum number of releases listed per channel. Older releases can still be installed by version. */
const maxListed = 100

/** Returns the newest releases, newest first. Omits entries with an invalid version. */
export function newest<Named extends { version: string }>(releases: Named[]): Named[] {
  const parsed = releases.flatMap((release) => {
    const version = parseVersion(release.version)
    return version ? [{ release, version }] : []
  })
  const sorted = parsed.toSorted((a, b) => compareParsed(b.version, a.version))
  return sorted.slice(0, maxListed).map(({ release }) => release)
}

/** Extracts the hex SHA-256 at the beginning of a text in `sha256sum` format. */
export const sha256In = (text: string): string | null => /^[0-9a-f]{64}(?=\s|$)/i.exec(text.trim())?.[0].toLowerCase() ?? null
