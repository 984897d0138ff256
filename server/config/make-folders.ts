import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder with those above it, unless they are there; gives those that it made, the outermost first. Node's own way (`recursive`) never
 * ends where a file system refuses a folder with the words for one that is missing above it, as /proc does.
 * @throws Error of the system, for the folder that cannot be made.
 */
export function makeFolders(path: string, mode = 0o777): string[] {
  if (isFolder(path)) return []
  const above = dirname(path) === path ? [] : makeFolders(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
    return [...above, path]
  } catch (error) {
    // Another process may have been quicker.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(path)) return above
    throw error
  }
}

/**
 * Sets the permissions of a file or folder, whatever the umask is. Its setuid, setgid and sticky bits stay. Some file systems have no
 * permissions, only a file's owner may change them, and another process may have removed it: none of these is an error.
 */
export function setMode(path: string, mode: number): void {
  const facts = statSync(path, { throwIfNoEntry: false })
  const wanted = ((facts?.mode ?? 0) & 0o7000) | mode
  if (!facts || (facts.mode & 0o7777) === wanted) return
  try {
    chmodSync(path, wanted)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EROFS', 'ENOENT'].includes(String((error as NodeJS.ErrnoException).code))) throw error
  }
}

/**
 * Looks whether a path is a folder or could be made one, and leaves everything as it is.
 * @throws Error of the system when a file is in the way, or the account may not write where it would be made.
 */
export function requireMakeable(path: string): void {
  if (isFolder(path)) return
  if (existsSync(path)) throw Object.assign(new Error(`ENOTDIR: not a directory, mkdir '${path}'`), { code: 'ENOTDIR', path })
  const above = dirname(path)
  if (isFolder(above)) accessSync(above, constants.W_OK | constants.X_OK)
  else if (above !== path) requireMakeable(above)
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
