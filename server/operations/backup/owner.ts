import type { EntityManager } from '@mikro-orm/sql'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { lockSetting, readSettingIn, type Setting } from '../../platform/settings/service.ts'
import { databaseId } from '../../platform/store/identity.ts'
import { listBackups, readManifest } from './manifest.ts'
import { ownerKey } from './place/layout.ts'
import type { BackupPlace } from './place/place.ts'

/** Id of this server as the owner of its backups. A server restored from a backup has the same store id, but gets a new owner id. */
export const ownerSetting: Setting<string | null> = { key: 'backup.owner', schema: z.string().nullable(), initial: null }

/**
 * Makes this server the owner of a backup location that has no owner yet. Two servers sharing a location would delete each other's unfinished
 * writes, old backups and blobs.
 * @throws ApiError Conflict when the location belongs to another server, even if one server was restored from a backup of the other.
 */
export async function claimPlace(em: EntityManager, place: BackupPlace): Promise<void> {
  if ((await place.owner()) === null) await requireOwnStore(em, place)
  const owner = await lockSetting(em, { key: ownerSetting.key, schema: z.string(), initial: randomUUID() })
  if ((await place.claim(owner)) !== owner) throw conflict(foreign(place))
}

/** Returns an error message if the location belongs to another server; null if it belongs to this server or has no owner yet. */
export async function foreignPlace(em: EntityManager, place: BackupPlace): Promise<string | null> {
  const owner = await place.owner()
  return owner === null || owner === (await readSettingIn(em, ownerSetting)) ? null : foreign(place)
}

const foreign = (place: BackupPlace) =>
  `${others(place)} If this server replaces the other one, which never runs again, delete ${place.nameOf(ownerKey)}.`

const others = ({ name }: BackupPlace) => `${name} has backups of another server. Give each server a place of its own.`

/** Checks backups without an owner by their store id. Earlier versions did not record an owner. */
async function requireOwnStore(em: EntityManager, place: BackupPlace): Promise<void> {
  const earlier = (await listBackups(place)).at(-1)
  if (earlier && (await readManifest(place, earlier)).storeId !== (await databaseId(em))) throw conflict(others(place))
}
