import { accessSync, constants, statfsSync } from 'node:fs'

/** Linux's file system in memory. */
const folder = '/dev/shm'
/** What a run of all tests keeps there at most, in bytes, with room to spare. */
const needed = 4 * 1024 ** 3

/**
 * Moves temporary files into memory where the system has a place for that. The tests make and remove some thousand small
 * databases, and on a disk most of their time goes into that. TMPDIR, when set, is left as it is.
 */
export function keepTemporaryFilesInMemory() {
  if (process.env.TMPDIR || !hasRoom()) return
  process.env.TMPDIR = folder // inherited by every process of the tests
}

function hasRoom() {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= needed
  } catch {
    return false // another system
  }
}
