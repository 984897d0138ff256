import { accessSync, constants, statfsSync } from 'node:fs'

/** In-memory file system of Linux. */
const folder = '/dev/shm'
/** Free space that a run of all tests needs, in bytes, with a margin. */
const needed = 4 * 1024 ** 3

/**
 * Moves temporary files to an in-memory file system if one is available. Tests create and remove thousands of small databases, which is slow on
 * disks. An existing TMPDIR is kept.
 */
export function keepTemporaryFilesInMemory() {
  if (process.env.TMPDIR || !hasSpace()) return
  process.env.TMPDIR = folder // all test processes inherit the variable
}

function hasSpace() {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= needed
  } catch {
    return false // not Linux
  }
}
