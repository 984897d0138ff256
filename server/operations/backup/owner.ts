import type { EntityManager } from '@mikro-orm/sql'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { lockSetting, readSettingIn, type Setting } from '../../platform/settings/service.ts'
import { readStoreId } from '../../platform/store/identity.ts'
import { listBackups, readManifest } from './manifest.ts'
import { type BackupPlace, ownerKey } from './place/place.ts'
import type { Services } from '../../services.ts'
import { adminCommand } from '../../platform/config/version.ts'
import { openPlace } from './place/open.ts'
import { readState } from './schedule/state.ts'

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
  if (earlier && (await readManifest(place, earlier)).storeId !== (await readStoreId(em))) throw conflict(others(place))
}

/**
 * Returns a message if this server backed up to this address before, but the location now has neither its owner marker nor its last backup. The
 * address then points to something else, such as an empty mount point. Returns null if there is no problem.
 */
export async function lostPlace(em: EntityManager, place: BackupPlace, address: string): Promise<string | null> {
  const { lastSuccess } = await readState(em)
  // A restored server has no owner id until its first backup.
  if (lastSuccess?.place !== address || (await readSettingIn(em, ownerSetting)) === null) return null
  if ((await place.owner()) !== null || (await listBackups(place)).includes(lastSuccess.id)) return null
  return (
    `${place.name} has none of the backups that this server made there; the last one was ${lastSuccess.id}. Mount the volume that they are on. ` +
    `To start over at this location, run once: ${adminCommand} backup ${address}`
  )
}

/** Logs a warning at server start if the backup location is lost or belongs to another server, instead of waiting for the next backup to fail. */
export async function warnOfLostPlace({ config, database, log }: Pick<Services, 'config' | 'database' | 'log'>): Promise<void> {
  if (config.BACKUP_TO === undefined) return
  try {
    const [em, place] = [database.fork(), await openPlace(config, config.BACKUP_TO)]
    const problem = (await foreignPlace(em, place)) ?? (await lostPlace(em, place, config.BACKUP_TO))
    if (problem !== null) log.warning(problem)
  } catch (error) {
    log.warning(`The place for backups could not be checked: ${error instanceof Error ? error.message : String(error)}`)
  }
}
