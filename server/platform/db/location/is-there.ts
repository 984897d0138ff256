import { accessSync, constants } from 'node:fs'
import { readOnly } from '../../config/path-errors.ts'

/**
 * Returns whether a path exists. Operator commands may run as another account than the server; `existsSync` would return false for a path that the
 * account may not see.
 * @throws Error if the account may not read the path, or may not write to it although `writable` is set.
 */
export function isThere(path: string, { writable = false } = {}): boolean {
  try {
    accessSync(path, constants.R_OK)
    if (writable) accessSync(path, constants.W_OK)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    if (code === 'EROFS') throw new Error(`${path} ${readOnly}`, { cause: error })
    if (code !== 'EACCES') throw error
    throw new Error(`${path} cannot be ${writable ? 'opened' : 'read'}: permission denied. Run the command as the account of the server.`, {
      cause: error,
    })
  }
}
