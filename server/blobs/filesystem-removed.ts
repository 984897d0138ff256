import { renameSync, rmSync, statSync } from 'node:fs'
import { readdir, rename, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setMode } from '../config/make-folders.ts'
import { makeDirectories, syncDirectory } from './directories.ts'
import type { Modes } from './modes.ts'
import { readRemovedName, removedName } from './names.ts'
import type { RemovedBytes } from './store.ts'

/**
 * Moves stored bytes into the folder of removed ones, unless they are `before` or younger; the name there tells when. It looks and moves in one
 * go, so that nothing of this process comes in between.
 * @returns how many bytes; null when they are gone already, or too young.
 */
export function setAside(path: string, removed: string, sha256: string, { at, before }: { at: Date; before: Date | null }): number | null {
  const isTooYoung = (mtimeMs: number) => before !== null && mtimeMs >= before.getTime()
  const facts = statSync(path, { throwIfNoEntry: false })
  if (!facts || isTooYoung(facts.mtimeMs)) return null
  const aside = join(removed, removedName(sha256, at))
  if (!moved(path, aside)) return null
  // Another process may have published the same bytes just before the move: then these are the ones that its version names.
  const mtimeMs = statSync(aside, { throwIfNoEntry: false })?.mtimeMs
  if (mtimeMs === undefined || !isTooYoung(mtimeMs)) return facts.size
  moved(aside, path)
  return null
}

/** The removed bytes. Files with another name are not ours. */
export async function* listRemoved(removed: string): AsyncGenerator<RemovedBytes & { path: string }> {
  for (const name of await readdir(removed)) {
    const path = join(removed, name)
    const told = readRemovedName(name)
    const facts = told ? statSync(path, { throwIfNoEntry: false }) : undefined
    if (told && facts) yield { ...told, bytes: facts.size, path }
  }
}

/** Deletes what was removed before `before`, for good. */
export async function purgeRemoved(removed: string, before: Date): Promise<RemovedBytes[]> {
  const purged: RemovedBytes[] = []
  for await (const { path, ...bytes } of listRemoved(removed)) {
    if (bytes.removedAt >= before) continue
    rmSync(path, { force: true })
    purged.push(bytes)
  }
  return purged
}

/** Moves removed bytes back to `target`, as young as new ones; false when there are none. */
export async function restoreRemoved(removed: string, sha256: string, target: string, { file, folder }: Modes): Promise<boolean> {
  for await (const { sha256: found, path } of listRemoved(removed)) {
    if (found !== sha256) continue
    const now = new Date()
    await makeDirectories([dirname(target)], folder)
    setMode(path, file)
    // Young first: a collection that runs meanwhile must not take them away again.
    await utimes(path, now, now)
    await rename(path, target)
    await syncDirectory(dirname(target))
    return true
  }
  return false
}

/** False when the file is not there any more. */
function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
