import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { factsOf } from '../blobs/measured.ts'
import { conflict, notFound } from '../errors.ts'
import { damaged } from './place/damaged.ts'
import { fileForm, isSnapshotId, manifestKey, tableForm } from './place/layout.ts'
import type { BackupPlace } from './place/place.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const fileShape = z.object({ name: z.string().regex(fileForm), bytes: z.int().nonnegative(), sha256 })
const tableShape = z.object({ name: z.string().regex(tableForm), columns: z.array(z.string()), rows: z.int().nonnegative(), sha256 })
const lackShape = z.object({ sha256, problem: z.enum(['missing', 'damaged']) })

const haveOwnNames = (all: { name: string }[]) => new Set(all.map(({ name }) => name)).size === all.length

const manifestShape = z.object({
  format: z.literal(1),
  id: z.string(),
  /** The version of the program that made it. */
  version: z.string(),
  database: z.enum(['sqlite', 'postgres']),
  /** The id that ties the database to its store of archives. */
  storeId: z.string(),
  /** The migrations that the database had. */
  migrations: z.array(z.string()),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime(),
  /** The files of the snapshot. */
  files: z.array(fileShape).refine(haveOwnNames, 'two files have the same name'),
  tables: z.array(tableShape).refine(haveOwnNames, 'two tables have the same name'),
  /** What is in the list of blobs, and which of them the server itself did not have whole. */
  blobs: z.object({ count: z.int().nonnegative(), bytes: z.int().nonnegative(), lacking: z.array(lackShape) }),
})
/** What tells that a backup is whole, and what is in it. */
export type Manifest = z.infer<typeof manifestShape>
export type SnapshotTable = z.infer<typeof tableShape>
/** What was copied of a database, all of one moment. */
export type Snapshot = Pick<Manifest, 'storeId' | 'migrations' | 'files' | 'tables'>
/** A blob that the server had no more, or only damaged, when it was backed up. */
export type Lack = z.infer<typeof lackShape>

/** Writes the manifest of a snapshot, which makes a backup of it: all at once, and durably. */
export async function writeManifest(place: BackupPlace, manifest: Manifest): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  await place.put(manifestKey(manifest.id), Readable.from([bytes]), factsOf(bytes))
  await place.settle()
}

/** Far more than a manifest that lists hundreds of thousands of lacking blobs. */
const maxManifestBytes = 64 * 1024 ** 2

/** @throws ApiError Conflict when it is damaged, or of a format that this version does not know. */
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

/** Every snapshot in a place, the oldest first, and whether it has its manifest. */
export async function listSnapshots(place: BackupPlace): Promise<{ id: string; isWhole: boolean }[]> {
  const ids = (await place.snapshots()).filter(isSnapshotId).toSorted()
  return Promise.all(ids.map(async (id) => ({ id, isWhole: (await place.find(manifestKey(id))) !== null })))
}

/** The ids of all backups in a place, the oldest first. */
export const listBackups = async (place: BackupPlace): Promise<string[]> =>
  (await listSnapshots(place)).filter(({ isWhole }) => isWhole).map(({ id }) => id)

/**
 * The manifest of the newest backup in a place, or of the one with this id.
 * @throws ApiError NotFound without one; Conflict when it cannot be read.
 */
export async function findManifest(place: BackupPlace, id?: string): Promise<Manifest> {
  const ids = await listBackups(place)
  const found = id === undefined ? ids.at(-1) : ids.find((one) => one === id)
  if (found) return readManifest(place, found)
  const known = ids.length > 0 ? ` It has these: ${ids.join(', ')}.` : ''
  throw notFound(`There is no complete backup${id === undefined ? '' : ` ${id}`} in ${place.name}.${known}`)
}
