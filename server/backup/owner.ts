import type { EntityManager } from '@mikro-orm/sql'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { conflict } from '../errors.ts'
import { lockSetting, readSettingIn, type Setting } from '../settings/service.ts'
import { idOfDatabase } from '../store/identity.ts'
import { listBackups, readManifest } from './manifest.ts'
import { ownerKey } from './place/layout.ts'
import type { BackupPlace } from './place/place.ts'

/** The id of a server as the owner of its backups. A server restored from one of them has the same store id, but gets an id of its own here. */
export const ownerSetting: Setting<string | null> = { key: 'backup.owner', schema: z.string().nullable(), initial: null }

/**
 * Makes this server the owner of a place for backups that has none yet. Two servers in one place would clear away what the other is writing,
 * delete each other's old backups, and take each other's blobs away.
 * @throws ApiError Conflict when the place has backups of another server, even if one was restored from a backup of the other.
 */
export async function claimPlace(em: EntityManager, place: BackupPlace): Promise<void> {
  if ((await place.owner()) === null) await requireOwnStore(em, place)
  const owner = await lockSetting(em, { key: ownerSetting.key, schema: z.string(), initial: randomUUID() })
  if ((await place.claim(owner)) !== owner) throw conflict(foreign(place))
}

/** What to say of a place that has backups of another server, and so gets none of this one; null when it has not, or is nobody's yet. */
export async function foreignPlace(em: EntityManager, place: BackupPlace): Promise<string | null> {
  const owner = await place.owner()
  return owner === null || owner === (await readSettingIn(em, ownerSetting)) ? null : foreign(place)
}

const foreign = (place: BackupPlace) =>
  `${others(place)} If this server replaces the other one, which never runs again, delete ${place.nameOf(ownerKey)}.`

const others = ({ name }: BackupPlace) => `${name} has backups of another server. Give each server a place of its own.`

/** A place may have backups, but no owner: earlier versions wrote none. */
async function requireOwnStore(em: EntityManager, place: BackupPlace): Promise<void> {
  const earlier = (await listBackups(place)).at(-1)
  if (earlier && (await readManifest(place, earlier)).storeId !== (await idOfDatabase(em))) throw conflict(others(place))
}
