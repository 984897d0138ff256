import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Makes directories with those above them. A new name lasts once the directory that holds it is synced. */
export async function makeDirectories(paths: string[]): Promise<void> {
  for (const path of paths) {
    const first = await mkdir(path, { recursive: true })
    if (first === undefined) continue
    for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made))
  }
}

/** Makes the names in a directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path)
  await directory.sync()
}
