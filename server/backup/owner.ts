import type { EntityManager } from '@mikro-orm/sql'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { readMarker, writeMarker } from '../blobs/marker-file.ts'
import { conflict } from '../errors.ts'
import { lockSetting, type Setting } from '../settings/service.ts'
import { idOfDatabase } from '../store/identity.ts'
import { listSnapshots, type Places } from './layout.ts'
import { readManifest } from './manifest.ts'

/** The id of a server as the owner of its backups. A server restored from one of them has the same store id, but gets an id of its own here. */
export const ownerSetting: Setting<string | null> = { key: 'backup.owner', schema: z.string().nullable(), initial: null }

/**
 * Makes this server the owner of a folder of backups that has none yet. Two servers in one folder would clear away what the other is writing,
 * delete each other's old backups, and take each other's blobs away.
 * @throws ApiError Conflict when the folder has backups of another server, even if one was restored from a backup of the other.
 */
export async function claimPlaces(em: EntityManager, places: Places): Promise<void> {
  if ((await readMarker(places.owner)) === null) await requireOwnStore(em, places)
  const owner = await lockSetting(em, { key: ownerSetting.key, schema: z.string(), initial: randomUUID() })
  if ((await writeMarker(places.owner, owner, { mode: 0o600 })) === owner) return
  throw conflict(
    `${places.root} has backups of another server. Give each server a folder of its own. ` +
      `If this server replaces the other one, which never runs again, delete ${places.owner}.`,
  )
}

/** A folder may have backups, but no owner: earlier versions wrote none. */
async function requireOwnStore(em: EntityManager, places: Places): Promise<void> {
  const earlier = (await listSnapshots(places)).findLast(({ isWhole }) => isWhole)
  if (earlier && (await readManifest(places, earlier.id)).storeId !== (await idOfDatabase(em)))
    throw conflict(`${places.root} has backups of another server. Give each server a folder of its own.`)
}
