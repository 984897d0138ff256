import type { ArchiveFile } from './tree.ts'
import { quoted, refuse } from './refuse.ts'

/** The manifest must be at the root of the archive under exactly this name. */
export const manifestName = 'pubspec.yaml'

/**
 * Returns the manifest's text. Throws `PackageRejected` if it is not UTF-8, or if it is missing; the message then names a misplaced or misnamed file.
 */
export function manifestIn(files: readonly ArchiveFile[], content: Buffer): string {
  if (files.length === 0) refuse('The archive is empty. Pack a package with pubspec.yaml at its root.')
  if (!files.some(({ path }) => path === manifestName)) refuse(missing(files))
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    return refuse('pubspec.yaml is not UTF-8. Save it as UTF-8.')
  }
}

function missing(files: readonly ArchiveFile[]): string {
  const misnamed = files.find(({ path }) => /^pubspec\.ya?ml$/i.test(path))
  if (misnamed) return `The manifest is called ${quoted(misnamed.path)}. Rename it to pubspec.yaml.`
  const elsewhere = files.find(({ path }) => path.endsWith(`/${manifestName}`))
  if (elsewhere)
    return `pubspec.yaml is not at the root of the archive but at ${quoted(elsewhere.path)}. Pack the contents of the package directory, not the directory.`
  return 'The archive has no pubspec.yaml at its root. Add one.'
}
