import { quoted, refuse } from './refuse.ts'

/**
 * The path of an archive entry in its plain form: no `./`, no double or trailing slash; '' for the root itself.
 * Throws `PackageRejected` for a path that leaves the archive or that not every system can store (pub's protocol, "What an archive must be").
 */
export function plainPath(raw: string): string {
  if (raw === '') refuse('The archive has an entry without a name. Pack it with `dart pub publish`.')
  const broken = faults.find(([pattern]) => pattern.test(raw))
  if (broken) refuse(`The archive has the path ${quoted(raw)}, ${broken[1]}`)
  const segments = raw.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.some((segment) => Buffer.byteLength(segment) > maxSegment))
    refuse(`The archive has the path ${quoted(raw)} with a name longer than ${maxSegment} bytes. Shorten it.`)
  const path = segments.join('/')
  if (Buffer.byteLength(path) > maxPath)
    refuse(`The archive has the path ${quoted(raw)}, which is longer than ${maxPath} bytes. Shorten it.`)
  return path
}

/** Two paths with the same key are one file on a system that ignores case or composes characters (macOS, Windows). */
export function collisionKey(path: string): string {
  return ascii.test(path) ? path.toLowerCase() : path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

const maxPath = 1024
/** NAME_MAX of common file systems. */
const maxSegment = 255
const ascii = /^[\x20-\x7e]*$/

const faults: [RegExp, string][] = [
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  [/[\u0000-\u001f\u007f-\u009f]/, 'which has control characters. Rename it.'],
  [/\\/, 'which has a backslash. Rename it.'],
  [/^(?:\/|[A-Za-z]:)/, 'which is absolute. Paths must be relative to the package root.'],
  [/(?:^|\/)\.\.(?:\/|$)/, 'which has `..` in it. Paths must stay inside the package.'],
  [/\ufffd/, 'which is not UTF-8. Rename it.'],
]
