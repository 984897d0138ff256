import { escaped, refuse } from './refuse.ts'

/**
 * The path of an archive entry in its plain form: no `./`, no double or trailing slash; '' for the root itself.
 * Throws `PackageRejected` for a path that leaves the archive or that not every system can store.
 */
export function plainPath(raw: string): string {
  if (raw === '') refuse('The archive has an entry without a name. Pack it with `dart pub publish`.')
  const broken = faults.find(([pattern]) => pattern.test(raw))
  if (broken) refuse(`The archive has the path ${escaped(raw)}, ${broken[1]}`)
  const segments = raw.split('/').filter((segment) => segment !== '' && segment !== '.')
  for (const segment of segments) {
    const unfit = misnomers.find(([pattern]) => pattern.test(segment))
    if (unfit) refuse(`The archive has the path ${escaped(raw)}, ${unfit[1]}`)
  }
  if (segments.some((segment) => Buffer.byteLength(segment) > maxSegment))
    refuse(`The archive has the path ${escaped(raw)} with a name longer than ${maxSegment} bytes. Shorten it.`)
  const path = segments.join('/')
  if (Buffer.byteLength(path) > maxPath)
    refuse(`The archive has the path ${escaped(raw)}, which is longer than ${maxPath} bytes. Shorten it.`)
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

/**
 * Characters that are not seen, or that make others be seen in another order. Variation selectors stay, for they belong to what is before them;
 * so do joiners in the scripts and emoji that are written with them.
 */
const invisible =
  /[[\p{Default_Ignorable_Code_Point}\u2028\u2029]--[\p{Join_Control}\p{Variation_Selector}]]|(?<![[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]])\p{Join_Control}/v

/** What a name of a file or directory must not be. Source for Windows: "Naming Files, Paths, and Namespaces", Microsoft. */
const misnomers: [RegExp, string][] = [
  [invisible, 'which has an invisible character or one that reverses the order of others. Rename it.'],
  [/[<>:"|?*]/, 'which has one of the characters < > : " | ? * that Windows cannot store. Rename it.'],
  [/[.\s]$/, 'which has a name that ends with a dot or a blank. Windows cannot store it. Rename it.'],
  [/^(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³]|conin\$|conout\$)\s*(?:\.|$)/i, 'which has a name that is reserved on Windows. Rename it.'],
]
