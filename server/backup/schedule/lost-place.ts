import type { EntityManager } from '@mikro-orm/sql'
import type { Services } from '../../services.ts'
import { readSettingIn } from '../../settings/service.ts'
import { adminCommand } from '../../version.ts'
import { listBackups } from '../manifest.ts'
import { foreignPlace, ownerSetting } from '../owner.ts'
import { openPlace } from '../place/open.ts'
import type { BackupPlace } from '../place/place.ts'
import { readState } from './state.ts'

/**
 * What to say of a place that this server backed up to before, and that has neither its mark nor its last backup any more: what is there is
 * something else, such as the folder that a volume was mounted on. Null when there is nothing to say.
 */
export async function lostPlace(em: EntityManager, place: BackupPlace, address: string): Promise<string | null> {
  const { lastSuccess } = await readState(em)
  // A restored server has no mark of its own yet.
  if (lastSuccess?.place !== address || (await readSettingIn(em, ownerSetting)) === null) return null
  if ((await place.owner()) !== null || (await listBackups(place)).includes(lastSuccess.id)) return null
  return (
    `${place.name} has none of the backups that this server made there; the last one was ${lastSuccess.id}. Mount the volume that they are on. ` +
    `If it is to begin anew there, run once: ${adminCommand} backup ${address}`
  )
}

/** Warns of it, and of a place of another server, when the server starts, long before the next backup is due. */
export async function warnOfLostPlace({ config, database, log }: Pick<Services, 'config' | 'database' | 'log'>): Promise<void> {
  if (config.BACKUP_TO === undefined) return
  try {
    const [em, place] = [database.fork(), await openPlace(config, config.BACKUP_TO)]
    const problem = (await foreignPlace(em, place)) ?? (await lostPlace(em, place, config.BACKUP_TO))
    if (problem !== null) log.warning(problem)
  } catch (error) {
    log.warning(`The place for backups could not be looked at: ${error instanceof Error ? error.message : String(error)}`)
  }
}
