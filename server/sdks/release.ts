import { compareParsed, parseVersion } from '../pub/version.ts'
import type { SdkChannel, SdkKind } from './entity.ts'

/** An SDK that can be installed. */
export type Release = {
  kind: SdkKind
  version: string
  channel: SdkChannel
  /** Null where the archive does not say. */
  publishedAt: Date | null
  /** The version of Dart in it. */
  dartVersion: string | null
}

/** Where the archive of a release is, for this platform. */
export type Download = { url: string; sha256: string }

/** So many releases are listed of a channel, the newest. Others can be installed, too. */
const maxListed = 100

/** The newest of some, the newest first; what has no proper version is left out. */
export function newest<Named extends { version: string }>(releases: Named[]): Named[] {
  const parsed = releases.flatMap((release) => {
    const version = parseVersion(release.version)
    return version ? [{ release, version }] : []
  })
  const sorted = parsed.toSorted((a, b) => compareParsed(b.version, a.version))
  return sorted.slice(0, maxListed).map(({ release }) => release)
}

/** A SHA-256 in hex, at the beginning of a text such as `sha256sum` writes. */
export const sha256In = (text: string): string | null => /^[0-9a-f]{64}(?=\s|$)/i.exec(text.trim())?.[0].toLowerCase() ?? null
