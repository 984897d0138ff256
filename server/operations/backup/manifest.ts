import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { measureBuffer } from '../../platform/blobs/measured.ts'
import { conflict, notFound } from '../../errors.ts'
import { damaged } from './place/files.ts'
import { type BackupPlace, fileForm, isSnapshotId, manifestKey, tableForm } from './place/place.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const fileShape = z.object({ name: z.string().regex(fileForm), bytes: z.int().nonnegative(), sha256 })
const tableShape = z.object({ name: z.string().regex(tableForm), columns: z.array(z.string()), rows: z.int().nonnegative(), sha256 })
const faultyBlobShape = z.object({ sha256, problem: z.enum(['missing', 'damaged']) })

const haveOwnNames = (all: { name: string }[]) => new Set(all.map(({ name }) => name)).size === all.length

const manifestShape = z.object({
  format: z.literal(1),
  id: z.string(),
  /** Version of Snug that created the backup. */
  version: z.string(),
  database: z.enum(['sqlite', 'postgres']),
  /** Id that links the database to its archive store. */
  storeId: z.string(),
  /** Names of the migrations that were applied to the database. */
  migrations: z.array(z.string()),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime(),
  /** Files of the database snapshot, with their sizes and hashes. */
  files: z.array(fileShape).refine(haveOwnNames, 'two files have the same name'),
  tables: z.array(tableShape).refine(haveOwnNames, 'two tables have the same name'),
  /** Number and total size of the listed blobs, and the blobs that were missing or corrupt on the server itself. */
  blobs: z.object({ count: z.int().nonnegative(), bytes: z.int().nonnegative(), lacking: z.array(faultyBlobShape) }),
})
/** Describes the contents of a backup. A backup is complete only if it has a manifest. */
export type Manifest = z.infer<typeof manifestShape>
export type SnapshotTable = z.infer<typeof tableShape>
/** Result of a database snapshot, taken at one point in time. */
export type Snapshot = Pick<Manifest, 'storeId' | 'migrations' | 'files' | 'tables'>
/** A blob that was missing or corrupt on the server when the backup was created. */
export type FaultyBlob = z.infer<typeof faultyBlobShape>

/** Writes the manifest of a backup atomically and durably, which makes the backup complete. */
export async function writeManifest(place: BackupPlace, manifest: Manifest): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  await place.put(manifestKey(manifest.id), Readable.from([bytes]), measureBuffer(bytes))
  await place.flush()
}

/** Upper limit for the size of a manifest. One with hundreds of thousands of missing blobs is much smaller. */
const maxManifestBytes = 64 * 1024 ** 2

/**
 * Reads and validates a manifest.
 * @throws ApiError Conflict when the manifest is corrupt or has a format that this version does not support.
 */
export async function readManifest(place: BackupPlace, id: string): Promise<Manifest> {
  const name = place.nameOf(manifestKey(id))
  const found = await place.find(manifestKey(id))
  if (!found || found.bytes === null || found.bytes > maxManifestBytes) throw damaged(name)
  const written = await text(await found.read())
  try {
    return manifestShape.extend({ id: z.literal(id) }).parse(JSON.parse(written))
  } catch (error) {
    throw conflict(`${name} is damaged, or was made by a newer version: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Lists all snapshots in a backup location, oldest first, and whether each has a manifest. */
export async function listSnapshots(place: BackupPlace): Promise<{ id: string; isWhole: boolean }[]> {
  const ids = (await place.snapshots()).filter(isSnapshotId).toSorted()
  return Promise.all(ids.map(async (id) => ({ id, isWhole: (await place.find(manifestKey(id))) !== null })))
}

/** Lists the ids of all complete backups, oldest first. */
export const listBackups = async (place: BackupPlace): Promise<string[]> =>
  (await listSnapshots(place)).filter(({ isWhole }) => isWhole).map(({ id }) => id)

/**
 * Returns the manifest of the backup with this id, or of the newest backup.
 * @throws ApiError NotFound when there is no such backup; Conflict when its manifest cannot be read.
 */
export async function findManifest(place: BackupPlace, id?: string): Promise<Manifest> {
  const ids = await listBackups(place)
  const found = id === undefined ? ids.at(-1) : ids.find((one) => one === id)
  if (found) return readManifest(place, found)
  const known = ids.length > 0 ? ` It has these: ${ids.join(', ')}.` : ''
  throw notFound(`There is no complete backup${id === undefined ? '' : ` ${id}`} in ${place.name}.${known}`)
}
