import { escaped, rejectArchive } from './reject.ts'

/**
 * Normalizes the path of an archive entry: no `./`, no double or trailing slashes, '' for the root. Throws `PackageRejected` for a path that leaves
 * the archive or is invalid on some operating systems.
 */
export function plainPath(raw: string): string {
  if (raw === '') rejectArchive('The archive has an entry without a name. Pack it with `dart pub publish`.')
  const broken = faults.find(([pattern]) => pattern.test(raw))
  if (broken) rejectArchive(`The archive has the path ${escaped(raw)}, ${broken[1]}`)
  const segments = raw.split('/').filter((segment) => segment !== '' && segment !== '.')
  for (const segment of segments) {
    const unfit = forbiddenNames.find(([pattern]) => pattern.test(segment))
    if (unfit) rejectArchive(`The archive has the path ${escaped(raw)}, ${unfit[1]}`)
  }
  if (segments.some((segment) => Buffer.byteLength(segment) > maxSegment))
    rejectArchive(`The archive has the path ${escaped(raw)} with a name longer than ${maxSegment} bytes. Shorten it.`)
  const path = segments.join('/')
  if (Buffer.byteLength(path) > maxPath)
    rejectArchive(`The archive has the path ${escaped(raw)}, which is longer than ${maxPath} bytes. Shorten it.`)
  return path
}

/** Returns a key that is equal for paths denoting the same file on systems that ignore case or normalize Unicode (macOS, Windows). */
export function collisionKey(path: string): string {
  return ascii.test(path) ? path.toLowerCase() : path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

const maxPath = 1024
/** Maximum length of a file or directory name in bytes: NAME_MAX of common file systems. */
const maxSegment = 255
const ascii = /^[\x20-\x7e]*$/

const faults: [RegExp, string][] = [
  // eslint-disable-next-line no-control-regex -- matches control characters on purpose
  [/[\u0000-\u001f\u007f-\u009f]/, 'which has control characters. Rename it.'],
  [/\\/, 'which has a backslash. Rename it.'],
  [/^(?:\/|[A-Za-z]:)/, 'which is absolute. Paths must be relative to the package root.'],
  [/(?:^|\/)\.\.(?:\/|$)/, 'which has `..` in it. Paths must stay inside the package.'],
  [/\ufffd/, 'which is not UTF-8. Rename it.'],
]

/**
 * Invisible characters, and characters that change the display order. Variation selectors are allowed because they modify the preceding character.
 * Joiners are allowed in emoji and in scripts that use them.
 */
const invisible =
  /[[\p{Default_Ignorable_Code_Point}\u2028\u2029]--[\p{Join_Control}\p{Variation_Selector}]]|(?<![[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]])\p{Join_Control}/v

/** Forbidden names of files and directories. Source for Windows: "Naming Files, Paths, and Namespaces", Microsoft. */
const forbiddenNames: [RegExp, string][] = [
  [invisible, 'which has an invisible character or one that reverses the order of others. Rename it.'],
  [/[<>:"|?*]/, 'which has one of the characters < > : " | ? * that Windows cannot store. Rename it.'],
  [/[.\s]$/, 'which has a name that ends with a dot or a space. Windows cannot store it. Rename it.'],
  [/^(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³]|conin\$|conout\$)\s*(?:\.|$)/i, 'which has a name that is reserved on Windows. Rename it.'],
]

/** `path` is normalized; `size` is in bytes. */
export type ArchiveFile = { path: string; size: number }

/** `implied`: a directory without an entry of its own so far. */
type Kind = 'file' | 'directory' | 'implied'

/** The paths seen so far, by collision key. */
export type ArchiveTree = ReturnType<typeof archiveTree>

export const archiveTree = (limits: { entries: number; pathCharacters: number }) => ({
  limits,
  met: new Map<string, { path: string; kind: Kind }>(),
  characters: 0,
})

/**
 * Adds a normalized path and its parent directories. Throws `PackageRejected` for a path that is already present, differs only in case, or is of
 * another kind.
 */
export function addPath(tree: ArchiveTree, path: string, kind: 'file' | 'directory'): void {
  add(tree, path, kind)
  for (let parent = parentOf(path); parent !== null; parent = parentOf(parent)) {
    if (!add(tree, parent, 'implied')) return
  }
}

/** Returns whether the path is new. Returns false for a directory that is already present. */
function add(tree: ArchiveTree, path: string, kind: Kind): boolean {
  const key = collisionKey(path)
  const known = tree.met.get(key)
  if (!known) {
    tree.met.set(key, { path, kind })
    tree.characters += path.length
    checkLimits(tree)
    return true
  }
  if (known.path !== path)
    rejectArchive(
      `The archive has both ${escaped(known.path)} and ${escaped(path)}, which are the same file on systems that ignore case. Rename one.`,
    )
  if ((known.kind === 'file') !== (kind === 'file'))
    rejectArchive(`The archive has ${escaped(path)} both as a file and as a directory. Rename one.`)
  if (kind !== 'implied' && known.kind !== 'implied')
    rejectArchive(`The archive has ${escaped(path)} twice. Pack it with \`dart pub publish\`.`)
  if (kind === 'directory') known.kind = kind
  return false
}

function checkLimits({ met, characters, limits }: ArchiveTree) {
  if (met.size > limits.entries) rejectArchive(`The archive has more than ${limits.entries} files and directories, which is the limit.`)
  if (characters > limits.pathCharacters)
    rejectArchive(`The paths in the archive have more than ${limits.pathCharacters} characters in total, which is the limit. Shorten them.`)
}

function parentOf(path: string): string | null {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? null : path.slice(0, slash)
}
