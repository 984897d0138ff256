import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its missing parents. Returns the created folders, outermost first. Replaces Node's `recursive` option, which loops forever on
 * file systems such as /proc that report a missing parent when they do not allow folders.
 * @throws Error of the system if a folder cannot be created.
 */
export function makeFolders(path: string, mode = 0o777): string[] {
  if (isFolder(path)) return []
  const above = dirname(path) === path ? [] : makeFolders(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
    return [...above, path]
  } catch (error) {
    // Another process may have created the folder concurrently.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(path)) return above
    throw error
  }
}

/**
 * Sets the permissions of a file or folder, regardless of the umask. Keeps the setuid, setgid and sticky bits. Does nothing if the file system has no
 * permissions, the process does not own the file, or the file was removed concurrently.
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
 * Checks whether a path is a folder or could be created as one, without changing anything.
 * @throws Error of the system if a file has this name, or the parent folder is not writable.
 */
export function requireCreatable(path: string): void {
  if (isFolder(path)) return
  if (existsSync(path)) throw Object.assign(new Error(`ENOTDIR: not a directory, mkdir '${path}'`), { code: 'ENOTDIR', path })
  const above = dirname(path)
  if (isFolder(above)) accessSync(above, constants.W_OK | constants.X_OK)
  else if (above !== path) requireCreatable(above)
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
