import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from './config.ts'

/**
 * What keeps the folder or file that a setting names from being used, in terms of that setting; the error itself when it is something else, such
 * as a full disk.
 */
export function placeProblem(error: unknown, setting: string, path: string): unknown {
  if (error instanceof ConfigError || !(error instanceof Error)) return error
  const reason = reasonOf(error, path)
  return reason ? Object.assign(new ConfigError([`${setting}: ${reason}`]), { cause: error }) : error
}

/** What is wrong with a folder or file, and what to do, after a colon; undefined when that is not its fault. */
export function reasonOf({ code = '', path: failed, syscall }: NodeJS.ErrnoException, path: string): string | undefined {
  if (['EACCES', 'EPERM', 'SQLITE_READONLY_DIRECTORY'].includes(code))
    return `the account that the server runs as (number ${process.geteuid?.()}) may not write to ${existing(failed ?? path)}. Make it the owner (chown -R), or choose another place.`
  if (code === 'EROFS') return `${path} ${readOnly}`
  if (['ENOTDIR', 'EEXIST'].includes(code))
    return `${path} cannot be made: a file has that name, or that of a folder above it. Choose another place.`
  // What is above it is there, so the file system refuses folders: /proc does it in these words.
  if (code === 'ENOENT' && syscall === 'mkdir' && failed !== undefined && existsSync(dirname(failed)))
    return `${path} cannot be made: the file system at ${dirname(failed)} takes no folders. Choose another place.`
  if (code === 'EISDIR') return `${path} is a folder. Name a file in it.`
  if (code === 'SQLITE_NOTADB') return `${path} is not an SQLite database, or is damaged. Choose another file, or restore a backup.`
  if (code.startsWith('SQLITE_CORRUPT')) return `${path} is damaged. Restore a backup.`
  return undefined
}

/** What is said of a path on a file system that takes no writes. */
export const readOnly = 'cannot be written to: its file system is mounted read-only. Mount it writable, or choose another place.'

/** The path, or the nearest folder above it that is there. */
const existing = (path: string): string => (existsSync(path) || dirname(path) === path ? path : existing(dirname(path)))
