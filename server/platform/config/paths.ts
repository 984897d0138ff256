import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { chmod, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from './config.ts'

/**
 * Creates a folder and its missing parents. Returns the created folders, outermost first. Node's `recursive` option loops
 * forever on file systems such as /proc that report a missing parent when they do not allow folders.
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
 * Sets the permissions of a file or folder regardless of the umask. Keeps the setuid, setgid and sticky bits. Does nothing if
 * the file system has no permissions, the process is not the owner, or the file was removed.
 */
export function setMode(path: string, mode: number): void {
  const facts = statSync(path, { throwIfNoEntry: false })
  const wanted = facts && changedMode(facts.mode, mode)
  if (wanted === undefined) return
  try {
    chmodSync(path, wanted)
  } catch (error) {
    ignoreModeError(error as NodeJS.ErrnoException)
  }
}

/** Sets the permissions like `setMode`, without blocking the process while the disk does not respond. */
export async function setModeLater(path: string, mode: number): Promise<void> {
  try {
    const wanted = changedMode((await stat(path)).mode, mode)
    if (wanted !== undefined) await chmod(path, wanted)
  } catch (error) {
    ignoreModeError(error as NodeJS.ErrnoException)
  }
}

/** Returns the mode to set, or undefined if the file already has it. */
function changedMode(current: number, mode: number): number | undefined {
  const wanted = (current & 0o7000) | mode
  return (current & 0o7777) === wanted ? undefined : wanted
}

function ignoreModeError(error: NodeJS.ErrnoException): void {
  if (!['EPERM', 'ENOTSUP', 'EROFS', 'ENOENT'].includes(String(error.code))) throw error
}

/** Throws the error of the system if a path is not a folder and cannot be created as one. Changes nothing. */
export function requireCreatable(path: string): void {
  if (isFolder(path)) return
  if (existsSync(path)) throw Object.assign(new Error(`ENOTDIR: not a directory, mkdir '${path}'`), { code: 'ENOTDIR', path })
  const above = dirname(path)
  if (isFolder(above)) accessSync(above, constants.W_OK | constants.X_OK)
  else if (above !== path) requireCreatable(above)
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Converts a file system error to a ConfigError that explains it in terms of the setting. Returns other errors, such as a full disk, unchanged. */
export function explainPathError(error: unknown, setting: string, path: string): unknown {
  if (error instanceof ConfigError || !(error instanceof Error)) return error
  const reason = explainFileError(error, path)
  return reason ? Object.assign(new ConfigError([`${setting}: ${reason}`]), { cause: error }) : error
}

/** Explains a file system error and how to fix it, as the end of a message "NAME: …". Returns undefined for unrelated errors. */
export function explainFileError({ code = '', path: failed, syscall }: NodeJS.ErrnoException, path: string): string | undefined {
  if (['EACCES', 'EPERM', 'SQLITE_READONLY_DIRECTORY'].includes(code))
    return `the server's account (uid ${process.geteuid?.()}) has no write permission for ${existing(failed ?? path)}. Change the owner (chown -R), or choose another path.`
  if (code === 'EROFS') return `${path} ${readOnly}`
  if (['ENOTDIR', 'EEXIST'].includes(code))
    return `${path} cannot be created: a file already has this name, or the name of a parent folder. Choose another path.`
  // The parent exists, so the file system does not allow folders. /proc reports this as ENOENT.
  if (code === 'ENOENT' && syscall === 'mkdir' && failed !== undefined && existsSync(dirname(failed)))
    return `${path} cannot be created: the file system at ${dirname(failed)} does not allow new folders. Choose another path.`
  if (code === 'EISDIR') return `${path} is a folder. Choose a file in it.`
  if (code === 'SQLITE_NOTADB') return `${path} is not an SQLite database, or is damaged. Choose another file, or restore a backup.`
  if (code.startsWith('SQLITE_CORRUPT')) return `${path} is damaged. Restore a backup.`
  return undefined
}

/** End of the message about a path on a read-only file system. */
export const readOnly = 'cannot be written to: its file system is mounted read-only. Mount it writable, or choose another path.'

/** Returns the path, or its nearest existing parent folder. */
const existing = (path: string): string => (existsSync(path) || dirname(path) === path ? path : existing(dirname(path)))
