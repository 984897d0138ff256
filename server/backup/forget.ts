import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { syncDirectory } from '../blobs/directories.ts'
import { holdRemovals } from '../store/hold.ts'
import type { BackupSource } from './create.ts'
import { damaged } from './damaged.ts'
import { hashFile } from './files.ts'
import { blobList, listSnapshots, type Places, placesIn } from './layout.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { readBlobList } from './named-blobs.ts'

/** What was deleted. */
export type Forgotten = { backups: string[]; blobs: number; bytes: number }

/**
 * Deletes all but the newest `keep` backups in a folder, with the blobs that only they needed. The backup `made`, which has just been made, is
 * read again first: nothing is deleted unless it is whole. The newest one that lacks no archive stays, however old it is. What is killed
 * goes on the next time.
 * @throws ApiError Conflict while another backup runs, or when a backup that stays is damaged, so that nobody knows which blobs it needs.
 */
export async function forgetBackups(
  { em, now }: Pick<BackupSource, 'em' | 'now'>,
  folder: string,
  { made, keep }: { made: string; keep: number },
): Promise<Forgotten> {
  const places = placesIn(resolve(folder))
  const hold = await holdRemovals(em, now)
  try {
    await requireIntact(places, await readManifest(places, made))
    const { staying, backups } = await choose(places, keep)
    // A backup without its manifest does not count: whatever happens now, none is left in half.
    for (const id of backups) await rm(places.manifest(id), { force: true })
    for (const id of backups) await rm(places.snapshot(id), { recursive: true, force: true })
    await syncDirectory(places.snapshots)
    await hold.confirm()
    return { backups, ...(await removeBlobs(places, staying, hold.signal)) }
  } finally {
    await hold.release()
  }
}

async function requireIntact(places: Places, { id, files }: Manifest): Promise<void> {
  for (const { name, sha256 } of files) {
    const path = join(places.snapshot(id), name)
    if (!existsSync(path) || (await hashFile(path)).sha256 !== sha256) throw damaged(path)
  }
}

/** Which backups stay, and which go. One that cannot be read counts for nothing, and goes once enough newer ones are there. */
async function choose(places: Places, keep: number): Promise<{ staying: string[]; backups: string[] }> {
  const ids = (await listSnapshots(places)).filter(({ isWhole }) => isWhole).map(({ id }) => id)
  const readable: Manifest[] = []
  for (const id of ids.toReversed()) {
    const manifest = await readManifest(places, id).catch(() => null)
    if (manifest) readable.push(manifest)
  }
  const oldest = readable.slice(0, keep).at(-1)?.id ?? ''
  const complete = readable.find(({ blobs }) => blobs.lacking.length === 0)?.id
  const stays = (id: string) => id >= oldest || id === complete
  return { staying: ids.filter(stays), backups: ids.filter((id) => !stays(id)) }
}

/** Removes every blob that none of the backups names. Their lists are in order, and are read along with the folders. */
async function removeBlobs(places: Places, staying: string[], signal: AbortSignal): Promise<Omit<Forgotten, 'backups'>> {
  const lists: Lookup[] = []
  for (const id of staying) {
    const manifest = await readManifest(places, id)
    await requireIntact(places, { ...manifest, files: manifest.files.filter(({ name }) => name === blobList) })
    lists.push(lookUpIn(join(places.snapshot(id), blobList)))
  }
  const removed = { blobs: 0, bytes: 0 }
  for await (const { sha256, path } of storedBlobs(places)) {
    signal.throwIfAborted()
    let isNeeded = false
    for (const names of lists) isNeeded = (await names(sha256)) || isNeeded
    if (isNeeded) continue
    removed.bytes += (await stat(path)).size
    removed.blobs++
    await rm(path)
  }
  return removed
}

/** Whether a list names a blob; asked in order. */
type Lookup = (sha256: string) => Promise<boolean>

function lookUpIn(path: string): Lookup {
  const blobs = readBlobList(path)
  let [current, isOver] = ['', false]
  return async (sha256) => {
    while (current < sha256 && !isOver) {
      const next = await blobs.next()
      isOver = next.done === true
      if (next.done) break
      if (next.value.sha256 < current) throw new Error(`${path} is not in order.`)
      current = next.value.sha256
    }
    return current === sha256
  }
}

/** Every blob in a folder of backups, in order. */
async function* storedBlobs({ blobs }: Places): AsyncGenerator<{ sha256: string; path: string }> {
  const namesIn = async (folder: string, form: RegExp) => (await readdir(folder)).filter((name) => form.test(name)).toSorted()
  for (const first of await namesIn(blobs, /^[0-9a-f]{2}$/))
    for (const second of await namesIn(join(blobs, first), /^[0-9a-f]{2}$/)) {
      const folder = join(blobs, first, second)
      for (const sha256 of await namesIn(folder, /^[0-9a-f]{64}$/)) yield { sha256, path: join(folder, sha256) }
    }
}
