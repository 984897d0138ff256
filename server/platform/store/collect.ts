import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { BlobStore, RemovedBytes } from '../blobs/store.ts'
import { db } from '../db/query.ts'
import type { Reads } from '../db/reads.ts'
import { readRow, readRows } from '../db/statements.ts'
import { type Setting, readSetting, readSettingIn, writeSetting } from '../settings/service.ts'
import { areRemovalsHeld } from './hold.ts'
import { isOwnStore } from './identity.ts'
import { adminCommand } from '../config/version.ts'

/** Days for which removed archives are kept. */
export const graceDays = 7

type Context = { em: EntityManager; blobs: BlobStore; now: () => Date; say: (line: string) => void }
type Candidate = { sha256: string; bytes: number }

/** The result of a collection, or its plan. */
export type Collection = {
  /** Orphaned archives that were removed from the store. */
  removed: Candidate[]
  /** Archives that were removed more than a week ago and were permanently deleted. */
  purged: Candidate[]
  /** Set if an administrator must confirm the collection; nothing was removed then. */
  heldBack: HeldBack | null
}

const heldBackShape = z.object({ at: z.iso.datetime(), archives: z.number(), bytes: z.number(), stored: z.number() })
/** The number of archives that a collection would remove, and the number of stored archives. */
export type HeldBack = z.infer<typeof heldBackShape>

const heldBackSetting: Setting<HeldBack | null> = { key: 'collection.held_back', schema: heldBackShape.nullable(), initial: null }

/** Returns the collection that an administrator must confirm, or null. */
export const heldBackCollection = (reads: Reads): Promise<HeldBack | null> => readSetting(reads, heldBackSetting)

/**
 * Removes orphaned archives older than a day, and permanently deletes archives that were removed more than a week ago. A collection of more than 20
 * archives and more than 1% of all requires confirmation (`confirmed`). Every removal is logged. Several instances may collect concurrently.
 * @throws Error before the setup is complete, and if the store does not belong to the database.
 */
export async function collectArchives(context: Context, { confirmed = false } = {}): Promise<Collection> {
  const { em, blobs, now, say } = context
  const at = now()
  const { candidates, stored } = await findOrphaned(context, at)
  const heldBack = confirmed ? null : heldBackOf(candidates, stored, at)
  await saveHeldBack(em, heldBack)
  if (heldBack) return { removed: [], purged: [], heldBack }
  const removed: Candidate[] = []
  for (const { sha256 } of candidates) {
    const bytes = await blobs.remove(sha256, { at, before: daysBefore(at, 1) })
    if (bytes === null) continue
    removed.push({ sha256, bytes })
    say(`removed archive ${sha256} (${bytes} bytes): no version refers to it. It can be restored for ${graceDays} days.`)
  }
  await restoreReferenced(context, daysBefore(at, graceDays))
  // While a backup is running, removed archives are not purged, because the backup may still need them.
  const purged = (await areRemovalsHeld(em, at)) ? [] : await blobs.purge(daysBefore(at, graceDays))
  for (const { sha256, bytes, removedAt } of purged)
    say(`permanently deleted archive ${sha256} (${bytes} bytes), which was removed on ${removedAt.toISOString()}.`)
  return { removed, purged, heldBack: null }
}

/** Returns what a collection would do now, without changing anything. */
export async function planCollection(context: Context): Promise<Collection> {
  const at = context.now()
  const { candidates, stored } = await findOrphaned(context, at)
  const purged: RemovedBytes[] = []
  for await (const one of context.blobs.listRemoved()) if (one.removedAt < daysBefore(at, graceDays)) purged.push(one)
  return { removed: candidates, purged, heldBack: heldBackOf(candidates, stored, at) }
}

type Stores = Pick<Context, 'em' | 'blobs'>

/** Lists the orphaned archives that were stored before `before`. Calls `onStored` for every stored archive. */
export async function* orphanedArchives({ em, blobs }: Stores, before: Date, onStored: () => void): AsyncGenerator<Candidate> {
  let batch: Candidate[] = []
  for await (const { storedAt, ...blob } of blobs.list()) {
    onStored()
    if (storedAt < before) batch.push(blob)
    if (batch.length < batchSize) continue
    yield* await filterOrphaned(em, batch)
    batch = []
  }
  yield* await filterOrphaned(em, batch)
}

/** Returns the blobs that no version refers to, as its archive or its documentation. */
export async function filterOrphaned<Blob extends { sha256: string }>(em: EntityManager, blobs: Blob[]): Promise<Blob[]> {
  if (blobs.length === 0) return []
  const hashes = blobs.map(({ sha256 }) => sha256)
  const archives = db.selectFrom('package_versions').select('archive_sha256 as sha256').where('archive_sha256', 'in', hashes)
  const docs = db.selectFrom('version_docs').select('sha256').where('sha256', 'in', hashes).$narrowType<{ sha256: string }>()
  const named = new Set((await readRows(em, archives.unionAll(docs))).map(({ sha256 }) => sha256))
  return blobs.filter(({ sha256 }) => !named.has(sha256))
}

/** Describes why a collection needs confirmation, and how to confirm it. */
export const describeHeldBack = ({ archives, bytes, stored }: HeldBack): string =>
  `Nothing was removed: no version refers to ${archives} of ${stored} stored archives (${bytes} bytes), which is more than 1%. ` +
  `List them with: ${adminCommand} collect --dry-run. Remove them with: ${adminCommand} collect --confirm`

const batchSize = 500
const dayMs = 86_400_000

const daysBefore = (moment: Date, days: number) => new Date(moment.getTime() - days * dayMs)

/** Returns the facts of a collection that an administrator must confirm; null for smaller ones. */
function heldBackOf(candidates: Candidate[], stored: number, at: Date): HeldBack | null {
  const archives = candidates.length
  if (archives <= 20 || archives * 100 <= stored) return null
  return { at: at.toISOString(), archives, bytes: candidates.reduce((sum, { bytes }) => sum + bytes, 0), stored }
}

async function findOrphaned({ em, blobs }: Context, at: Date): Promise<{ candidates: Candidate[]; stored: number }> {
  const owner = await readRow(em, db.selectFrom('users').select('id').where('role', '=', 'owner'))
  if (!owner) throw new Error('The setup is not complete, so nothing is collected.')
  if (!(await isOwnStore(em, blobs))) throw new Error('The archive store does not belong to this database, so nothing is collected.')
  let stored = 0
  const candidates: Candidate[] = []
  for await (const one of orphanedArchives({ em, blobs }, daysBefore(at, 1), () => stored++)) candidates.push(one)
  return { candidates, stored }
}

/** Restores archives that are due for deletion although a version refers to them and no other copy exists. */
async function restoreReferenced({ em, blobs, say }: Context, before: Date): Promise<void> {
  const leaving: Candidate[] = []
  for await (const one of blobs.listRemoved()) if (one.removedAt < before) leaving.push(one)
  for (let start = 0; start < leaving.length; start += batchSize) {
    const batch = leaving.slice(start, start + batchSize)
    const orphaned = new Set(await filterOrphaned(em, batch))
    for (const { sha256 } of batch.filter((one) => !orphaned.has(one)))
      if (!(await blobs.has(sha256)) && (await blobs.restore(sha256))) say(`restored archive ${sha256}: a version refers to it.`)
  }
}

/** Saves the pending confirmation. Writes only changes, because this runs every few minutes. */
async function saveHeldBack(em: EntityManager, heldBack: HeldBack | null): Promise<void> {
  const noted = await readSettingIn(em, heldBackSetting)
  if (noted?.archives === heldBack?.archives && noted?.stored === heldBack?.stored) return
  await writeSetting(em, heldBackSetting, heldBack)
}
