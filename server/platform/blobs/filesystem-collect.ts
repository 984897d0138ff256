import { rmSync, statSync } from 'node:fs'
import { opendir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isHash } from './names.ts'

/** Removes staged files written before `before` and returns their number. */
export async function collectStaged(staging: string, before: Date): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(staging)) {
    const path = join(staging, name)
    // Synchronous, so that no other code of this process runs between the check and the removal.
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) >= before.getTime()) continue
    rmSync(path, { force: true })
    removed++
  }
  return removed
}

/** Lists the stored files. Files whose name is not a SHA-256 are ignored. */
export async function* listStored(stored: string): AsyncGenerator<{ sha256: string; bytes: number; storedAt: Date }> {
  for (const prefix of await readdir(stored)) {
    for (const { name, parentPath } of await readdir(join(stored, prefix), { recursive: true, withFileTypes: true })) {
      const facts = isHash(name) ? statSync(join(parentPath, name), { throwIfNoEntry: false }) : undefined
      if (facts) yield { sha256: name, bytes: facts.size, storedAt: facts.mtime }
    }
  }
}
