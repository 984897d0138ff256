import type { Readable } from 'node:stream'
import type { HostedRules } from '../pub/hosted-url.ts'
import { checkPubspec, type CheckedPubspec } from './check-pubspec.ts'
import { pickExample, type Document } from './documents.ts'
import { describePubspec, type Pubspec } from './pubspec.ts'
import { readArchive, type ArchiveContents, type ArchiveLimits } from './read.ts'
import { quoted, refuse } from './refuse.ts'
import type { JsonObject } from './yaml.ts'

/** Everything that a publish needs to know about an archive. */
export type InspectedPackage = Omit<ArchiveContents, 'pubspecText' | 'examples'> & {
  pubspec: Pubspec
  /** The whole pubspec, as the listing serves it. */
  document: JsonObject
  example: Document | null
}

/**
 * Reads an archive and its pubspec, and checks the one against the other. A stream is destroyed in every case.
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
