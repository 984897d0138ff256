import type { EntityManager } from '@mikro-orm/sql'
import type { BlobStore } from '../blobs/store.ts'
import { db } from '../db/query.ts'
import { readRow, rowsById } from '../db/statements.ts'
import { conflict } from '../../errors.ts'
import { filterOrphaned } from './collect.ts'
import { readStoreId } from './identity.ts'
import { type Fault, faultOf, forEachConcurrently, storeBytes } from './transfer.ts'

/** The source and destination of a move, and whether documentation is moved as well. */
type Context = { em: EntityManager; from: BlobStore; to: BlobStore; withDocs: boolean }
/** Progress of a move. `bytes` counts copied bytes. */
export type MoveProgress = { done: number; total: number; copied: number; bytes: number }
/** Result of a move. `faults` lists archives that are missing or corrupt at the source. */
type Move = MoveProgress & { faults: { sha256: string; kind: Fault }[] }

/**
 * Copies all archives that versions refer to from one store to another and verifies the hash of each copy. Intact copies at the destination are
 * skipped, so a run can be interrupted and restarted at any time while servers are running. Versions published in the meantime are left to the next
 * run. At the end, the destination receives the id of the database, so that a server may use it. A later run trusts listed files with the correct
 * size and takes seconds if nothing is left to copy. The source is not changed. `report` receives the progress.
 * @throws ApiError Conflict if one of the stores belongs to another database.
 */
export async function moveBlobs(context: Context, report: (progress: MoveProgress) => void = () => {}): Promise<Move> {
  const { id, isComplete } = await requireOwn(context)
  const listed = isComplete ? await sizesIn(context.to) : new Map<string, number>()
  const move: Move = { done: 0, total: await countReferenced(context), copied: 0, bytes: 0, faults: [] }
  await forEachConcurrently(referenced(context), async ({ sha256, bytes }) => {
    if (listed.get(sha256) === bytes) move.done++
    else await moveOne(context, sha256, move)
    report(move)
  })
  if ((await context.to.identify(id)) !== id)
    throw conflict('Another database claimed the destination during the move. Choose another destination.')
  return move
}

/** Returns the id of the database, and whether the destination has that id already: after a completed move, or after a server has used it. */
async function requireOwn({ em, from, to }: Context): Promise<{ id: string; isComplete: boolean }> {
  const [id, source, destination] = [await readStoreId(em), await from.identity(), await to.identity()]
  if (id === null || source !== id) throw conflict('The store to copy from does not belong to this database. Nothing was copied.')
  if (destination !== null && destination !== id) throw conflict('The store to copy to belongs to another database. Nothing was copied.')
  return { id, isComplete: destination === id }
}

/** Returns the sizes of all listed files, by hash. */
async function sizesIn(store: BlobStore): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { sha256, bytes } of store.list()) sizes.set(sha256, bytes)
  return sizes
}

async function moveOne({ em, from, to }: Context, sha256: string, move: Move): Promise<void> {
  if (!(await isWhole(to, sha256))) {
    const bytes = await copyOne(from, to, sha256)
    if (typeof bytes === 'string') {
      // The version was deleted in the meantime, so a missing archive is not a fault.
      if ((await filterOrphaned(em, [{ sha256 }])).length > 0) return void move.total--
      move.faults.push({ sha256, kind: bytes })
    } else [move.copied, move.bytes] = [move.copied + 1, move.bytes + bytes]
  }
  move.done += 1
  move.total = Math.max(move.total, move.done)
}

/** Returns whether a store has these bytes intact. */
async function isWhole(store: BlobStore, sha256: string): Promise<boolean> {
  try {
    const bytes = await store.open(sha256, { start: 0, end: 0 })
    bytes.destroy()
    return true
  } catch (error) {
    return faultOf(error) === null
  }
}

/** Copies an archive. Returns the number of bytes, or what is wrong with the archive at the source. */
async function copyOne(from: BlobStore, to: BlobStore, sha256: string): Promise<number | Fault> {
  const source = await from.open(sha256).catch((error: unknown) => faultOf(error))
  if (typeof source === 'string') return source
  const bytes = await storeBytes(to, sha256, source, Number.POSITIVE_INFINITY)
  if (bytes === null) throw new Error(`The source sent bytes that do not match ${sha256}`)
  if (!(await isWhole(to, sha256))) throw new Error(`The destination does not have the bytes with the SHA-256 ${sha256} after the copy`)
  return bytes
}

async function countReferenced({ em, withDocs }: Context): Promise<number> {
  const archives = db.selectFrom('package_versions').select(({ fn }) => fn.countAll<number>().as('total'))
  const docs = db
    .selectFrom('version_docs')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('sha256', 'is not', null)
  const [counted, ofDocs] = [await readRow(em, archives), withDocs ? await readRow(em, docs) : undefined]
  return (counted?.total ?? 0) + (ofDocs?.total ?? 0)
}

type Referenced = { sha256: string; bytes: number }

/** Yields the hashes and sizes that existing versions refer to, oldest versions first. */
async function* referenced({ em, withDocs }: Context): AsyncGenerator<Referenced> {
  const newest = await readRow(em, db.selectFrom('package_versions').select('id').orderBy('id', 'desc').limit(1))
  if (newest === undefined) return
  yield* rowsById(em, (after) =>
    db
      .selectFrom('package_versions')
      .select(['id', 'archive_sha256 as sha256', 'archive_bytes as bytes'])
      .where('id', '<=', newest.id)
      .where('id', '>', after)
      .orderBy('id'),
  )
  if (!withDocs) return
  yield* rowsById(em, (after) =>
    db
      .selectFrom('version_docs')
      .select((eb) => ['version_id as id', 'sha256', eb.fn.coalesce('bytes', eb.lit(0)).as('bytes')])
      .where('sha256', 'is not', null)
      .where('version_id', '<=', newest.id)
      .where('version_id', '>', after)
      .orderBy('version_id')
      .$narrowType<{ sha256: string }>(),
  )
}
