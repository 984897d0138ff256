import { rmSync, statSync } from 'node:fs'
import { opendir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Removes staged bytes that were written before `before`; gives their number. */
export async function collectStaged(staging: string, before: Date): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(staging)) {
    if (removeIfOlder(join(staging, name), before)) removed++
  }
  return removed
}

/**
 * Removes stored bytes that are older than `before` and that no row names; gives their number. Somebody may publish the same bytes
 * at this moment: then their hash is in `promoting`, or the file is young again.
 */
export async function collectStored(
  stored: string,
  before: Date,
  isKnown: (sha256: string[]) => Promise<ReadonlySet<string>>,
  promoting: ReadonlySet<string>,
): Promise<number> {
  let removed = 0
  for (const prefix of await readdir(stored)) {
    const candidates = await olderFiles(join(stored, prefix), before)
    for (let start = 0; start < candidates.length; start += batchSize) {
      const batch = candidates.slice(start, start + batchSize)
      const known = await isKnown(batch.map(({ name }) => name))
      for (const { name, path } of batch) {
        if (!known.has(name) && !promoting.has(name) && removeIfOlder(path, before)) removed++
      }
    }
  }
  return removed
}

/** The stored bytes; files that are no whole hash are not ours. */
export async function* listStored(stored: string): AsyncGenerator<{ sha256: string; bytes: number; storedAt: Date }> {
  for (const prefix of await readdir(stored)) {
    for (const { name, parentPath } of await readdir(join(stored, prefix), { recursive: true, withFileTypes: true })) {
      const facts = /^[0-9a-f]{64}$/.test(name) ? statSync(join(parentPath, name), { throwIfNoEntry: false }) : undefined
      if (facts) yield { sha256: name, bytes: facts.size, storedAt: facts.mtime }
    }
  }
}

const batchSize = 500

async function olderFiles(directory: string, before: Date): Promise<{ name: string; path: string }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) => ({ name, path: join(parentPath, name) }))
  return files.filter(({ path }) => isOlder(path, before))
}

function isOlder(path: string, before: Date): boolean {
  const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {}
  return mtimeMs < before.getTime()
}

/** Looks and removes in one go, so that nothing of this process comes in between. */
function removeIfOlder(path: string, before: Date): boolean {
  if (!isOlder(path, before)) return false
  rmSync(path, { force: true })
  return true
}
