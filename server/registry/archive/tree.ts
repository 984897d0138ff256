import { collisionKey } from './path.ts'
import { escaped, refuse } from './refuse.ts'

/** A file in the archive: its normalized path, and its size in bytes. */
export type ArchiveFile = { path: string; size: number }

/** Limits on the number of paths (including implied parent directories) and their total length in characters. */
export type TreeLimits = { entries: number; pathCharacters: number }

/** `implied`: a directory without an entry of its own so far. */
type Kind = 'file' | 'directory' | 'implied'

/** The paths seen so far, by collision key. */
export type ArchiveTree = ReturnType<typeof archiveTree>

/** Returns an empty tree. */
export function archiveTree(limits: TreeLimits) {
  return { limits, met: new Map<string, { path: string; kind: Kind }>(), characters: 0 }
}

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
    remember(tree, key, { path, kind })
    return true
  }
  if (known.path !== path)
    refuse(
      `The archive has both ${escaped(known.path)} and ${escaped(path)}, which are the same file on systems that ignore case. Rename one.`,
    )
  if ((known.kind === 'file') !== (kind === 'file'))
    refuse(`The archive has ${escaped(path)} both as a file and as a directory. Rename one.`)
  if (kind !== 'implied' && known.kind !== 'implied') refuse(`The archive has ${escaped(path)} twice. Pack it with \`dart pub publish\`.`)
  if (kind === 'directory') known.kind = kind
  return false
}

function remember(tree: ArchiveTree, key: string, entry: { path: string; kind: Kind }) {
  tree.met.set(key, entry)
  tree.characters += entry.path.length
  if (tree.met.size > tree.limits.entries)
    refuse(`The archive has more than ${tree.limits.entries} files and directories, which is the limit.`)
  if (tree.characters > tree.limits.pathCharacters)
    refuse(`The paths in the archive have more than ${tree.limits.pathCharacters} characters in total, which is the limit. Shorten them.`)
}

function parentOf(path: string): string | null {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? null : path.slice(0, slash)
}
