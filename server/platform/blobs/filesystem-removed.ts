import { renameSync, type Stats, statSync } from 'node:fs'
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setModeLater } from '../config/paths.ts'
import { listSteps, reads, requireResponse, writes } from './disk-calls.ts'
import { makeDirectories, type Modes, syncDirectory } from './durable-files.ts'
import { readRemovedName, removedName, type RemovedBytes } from './store.ts'

type Removal = { at: Date; before: Date | null }

/**
 * Moves a stored file to the folder of removed files, where its name contains the removal time. Does nothing if `before` is given and the file is not
 * older. Synchronous after the first line, so that no other code of this process runs between the check and the move.
 * @returns the size in bytes, or null if the file does not exist or is too recent.
 */
export async function moveToRemoved(path: string, removed: string, sha256: string, { at, before }: Removal): Promise<number | null> {
  await requireResponse(removed)
  const isTooYoung = (mtimeMs: number) => before !== null && mtimeMs >= before.getTime()
  const facts = statSync(path, { throwIfNoEntry: false })
  if (!facts || isTooYoung(facts.mtimeMs)) return null
  const aside = join(removed, removedName(sha256, at))
  if (!move(path, aside)) return null
  // Another process may have published the same content just before the move. Its version then refers to this file, so the file is moved back.
  const mtimeMs = statSync(aside, { throwIfNoEntry: false })?.mtimeMs
  if (mtimeMs === undefined || !isTooYoung(mtimeMs)) return facts.size
  move(aside, path)
  return null
}

/** Lists the removed files. Files with other names are ignored. */
export async function* listRemoved(removed: string): AsyncGenerator<RemovedBytes & { path: string }> {
  for (const name of await reads(() => readdir(removed), { steps: listSteps })) {
    const path = join(removed, name)
    const told = readRemovedName(name)
    const facts = told && (await statFile(path))
    if (told && facts) yield { ...told, bytes: facts.size, path }
  }
}

/** Permanently deletes files that were removed before `before`. */
export async function purgeRemoved(removed: string, before: Date): Promise<RemovedBytes[]> {
  const purged: RemovedBytes[] = []
  for await (const { path, ...bytes } of listRemoved(removed)) {
    if (bytes.removedAt >= before) continue
    await writes(() => rm(path, { force: true }))
    purged.push(bytes)
  }
  return purged
}

/** Moves a removed file back to `target` with a current modification time. Returns false if there is no such file. */
export async function restoreRemoved(removed: string, sha256: string, target: string, { file, folder }: Modes): Promise<boolean> {
  for await (const { sha256: found, path } of listRemoved(removed)) {
    if (found !== sha256) continue
    const now = new Date()
    await makeDirectories([dirname(target)], folder)
    await writes(() => setModeLater(path, file))
    // Update the modification time before the move, so that a concurrent collection does not remove the file again.
    await writes(() => utimes(path, now, now))
    await writes(() => rename(path, target))
    await syncDirectory(dirname(target), writes)
    return true
  }
  return false
}

/** Returns the size and times of a file, or null if it does not exist. */
export const statFile = (path: string): Promise<Stats | null> =>
  reads(() => stat(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

/** Moves a file. Returns false if it no longer exists. */
function move(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
