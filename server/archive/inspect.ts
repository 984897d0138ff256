import type { Readable } from 'node:stream'
import type { HostedRules } from '../pub/hosted-url.ts'
import { checkPubspec, type CheckedPubspec } from './check-pubspec.ts'
import { pickExample, type TextFile } from './documents.ts'
import { describePubspec, type Pubspec } from './pubspec.ts'
import { readArchive, type ArchiveContents, type ArchiveLimits } from './read.ts'
import { quoted, refuse } from './refuse.ts'
import type { JsonObject } from './yaml.ts'

/** Everything that a publish needs to know about an archive. */
export type InspectedPackage = Omit<ArchiveContents, 'pubspecText' | 'examples'> & {
  pubspec: Pubspec
  /** The whole pubspec, as the listing serves it. */
  document: JsonObject
  example: TextFile | null
}

/**
 * Reads an archive and its pubspec, and checks the one against the other. A stream is destroyed in every case. What is checked, in this order:
 * - gzip.ts: one gzip member, whole, with the right checksum, and nothing behind it.
 * - tar-framing.ts, tar-extension.ts: headers that every reader understands alike, at most so many entries and bytes unpacked, an end.
 * - read.ts: files and directories only.
 * - path.ts: paths that stay inside the package, and that every system can store and show.
 * - tree.ts: each path once, whatever its case, as a file or as a directory.
 * - manifest.ts: pubspec.yaml at the root, in UTF-8.
 * - yaml.ts, pubspec-shape.ts: the pubspec's YAML and its fields: name, version, description, addresses, environment, topics, …
 * - check-pubspec.ts, dependencies.ts: `publish_to`, and dependencies from this server or another one that is allowed.
 * - here: screenshots, which must be in the archive.
 *
 * Throws `PackageRejected` with the first and most useful reason; an error of the source itself comes out as it is.
 */
export async function inspectPackage(
  source: Readable | Buffer,
  rules: HostedRules,
  limits: Partial<ArchiveLimits> = {},
): Promise<InspectedPackage> {
  const { pubspecText, examples, ...contents } = await readArchive(source, limits)
  const { document, screenshots } = checkPubspec(pubspecText, rules)
  checkScreenshots(screenshots, contents)
  const pubspec = describePubspec(document)
  return { ...contents, pubspec, document, example: pickExample(examples, pubspec.name) }
}

const maxScreenshot = 4 * 1024 ** 2

function checkScreenshots(screenshots: CheckedPubspec['screenshots'], { files }: Pick<ArchiveContents, 'files'>) {
  const sizes = new Map(files.map(({ path, size }) => [path, size]))
  for (const { path } of screenshots) {
    const size = sizes.get(path.replace(/^(?:\.\/)+/, ''))
    if (size === undefined) refuse(`pubspec.yaml: the screenshot ${quoted(path)} is not in the archive. Add the file or remove the entry.`)
    if (size > maxScreenshot)
      refuse(`pubspec.yaml: the screenshot ${quoted(path)} is larger than ${maxScreenshot} bytes, the limit. Make it smaller.`)
  }
}
