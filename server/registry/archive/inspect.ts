import type { Readable } from 'node:stream'
import type { HostedRules } from '../../platform/pub/hosted-url.ts'
import { checkPubspec, type CheckedPubspec } from './check-pubspec.ts'
import { pickExample, type TextFile } from './documents.ts'
import { describePubspec, type Pubspec } from './pubspec.ts'
import { readArchive, type ArchiveContents, type ArchiveLimits } from './read.ts'
import { quoted, rejectArchive } from './reject.ts'
import type { JsonObject } from './yaml.ts'

/** The contents of an archive that publishing needs. */
export type InspectedPackage = Omit<ArchiveContents, 'pubspecText' | 'examples'> & {
  pubspec: Pubspec
  /** The complete pubspec, as the package listing serves it. */
  document: JsonObject
  example: TextFile | null
}

/**
 * Reads and validates an archive and its pubspec. Always destroys a stream source. Checks, in order:
 * - gzip.ts: a single, complete gzip member with a correct checksum and no trailing data.
 * - tar.ts: headers that all tar readers interpret alike, limits on entries and unpacked bytes, and a proper end.
 * - path.ts: paths that stay inside the package, are valid on all operating systems, and are unique, ignoring case.
 * - read.ts: only files and directories, and pubspec.yaml at the root, in UTF-8.
 * - yaml.ts, check-pubspec.ts, dependencies.ts: valid YAML, valid fields, and dependencies from this server or an allowed registry.
 * - This file: screenshots must be in the archive.
 * @throws ApiError PackageRejected with the first reason found. Errors of the source stream are rethrown unchanged.
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
    if (size === undefined)
      rejectArchive(`pubspec.yaml: the screenshot ${quoted(path)} is not in the archive. Add the file or remove the entry.`)
    if (size > maxScreenshot)
      rejectArchive(
        `pubspec.yaml: the screenshot ${quoted(path)} is larger than ${maxScreenshot} bytes, which is the limit. Reduce the image size.`,
      )
  }
}
