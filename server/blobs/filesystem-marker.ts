import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, unlessThere } from './directories.ts'

const pathBelow = (root: string) => join(root, 'store-id')

/** The id in the marker file of a store; null without one. What is no id any more is given as it is: it fits no database. */
export async function readMarker(root: string): Promise<string | null> {
  try {
    return (await readFile(pathBelow(root), 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes the marker file, whole and durably or not at all. One that is there stays, unless `replace` says otherwise.
 * @returns the id that is in it then: another instance may have been faster.
 */
export async function writeMarker(root: string, id: string, replace: boolean): Promise<string> {
  const [path, partial] = [pathBelow(root), `${pathBelow(root)}.${randomUUID()}`]
  try {
    await writeDurably(partial, `${id}\n`)
    // A link fails where a file is; renaming would replace it.
    if (replace) await rename(partial, path)
    else await link(partial, path).catch(unlessThere)
  } finally {
    await rm(partial, { force: true })
  }
  await syncDirectory(root)
  return (await readMarker(root)) ?? id
}

async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx')
  await file.writeFile(text)
  await file.sync()
}
