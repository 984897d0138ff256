import type { EntityManager } from '@mikro-orm/sql'
import type { Services } from '../../../services.ts'
import { readSettingIn } from '../../../platform/settings/service.ts'
import { adminCommand } from '../../../platform/config/version.ts'
import { listBackups } from '../manifest.ts'
import { foreignPlace, ownerSetting } from '../owner.ts'
import { openPlace } from '../place/open.ts'
import type { BackupPlace } from '../place/place.ts'
import { readState } from './state.ts'

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
