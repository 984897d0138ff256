import { rmSync, statSync } from 'node:fs'
import { opendir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isHash } from './names.ts'

/** Removes staged bytes that were written before `before`; gives their number. */
export async function collectStaged(staging: string, before: Date): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(staging)) {
    const path = join(staging, name)
    // Looks and removes in one go, so that nothing of this process comes in between.
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) >= before.getTime()) continue
    rmSync(path, { force: true })
    removed++
  }
  return removed
}

/** The stored bytes; files that are no whole hash are not ours. */
export async function* listStored(stored: string): AsyncGenerator<{ sha256: string; bytes: number; storedAt: Date }> {
  for (const prefix of await readdir(stored)) {
    for (const { name, parentPath } of await readdir(join(stored, prefix), { recursive: true, withFileTypes: true })) {
      const facts = isHash(name) ? statSync(join(parentPath, name), { throwIfNoEntry: false }) : undefined
      if (facts) yield { sha256: name, bytes: facts.size, storedAt: facts.mtime }
    }
  }
}
