import { accessSync, constants } from 'node:fs'
import { readOnly } from '../../config/place-problem.ts'

/**
 * Whether there is a file or folder at a path: for the operator's commands, which may run as another account than the server. `existsSync` would
 * say of what this account may not see that it does not exist.
 * @throws Error when this account may not read it, or cannot write to it where it has to.
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
