import type { EntityManager } from '@mikro-orm/sql'
import { foreignPlace, lostPlace } from '../../backup/owner.ts'
import { describeOverlap } from '../../backup/place/settings.ts'
import { openPlace } from '../../backup/place/open.ts'
import { readState } from '../../backup/schedule/state.ts'
import { readBucketAddress } from '../../../platform/config/bucket-address.ts'
import type { Config } from '../../../platform/config/config.ts'
import { isThere } from '../../../platform/db/location/files.ts'
import { adminCommand } from '../../../platform/config/version.ts'
import { type Check, examine } from './check.ts'

/** Checks the destination and the state of scheduled backups. `em` is null if the database is unavailable. */
export async function examineBackups(config: Config, em: EntityManager | null): Promise<Check[]> {
  const { BACKUP_TO } = config
  if (BACKUP_TO === undefined) return []
  const isBucket = readBucketAddress(BACKUP_TO) !== null
  // Covers all attempts of the S3 client.
  return examine(
    'backups',
    async () => [await checkPlace(config, BACKUP_TO, { isBucket, em })],
    isBucket ? 4 * config.S3_TIMEOUT_MS : undefined,
  )
}

async function checkPlace(
  config: Config,
  address: string,
  { isBucket, em }: { isBucket: boolean; em: EntityManager | null },
): Promise<Check> {
  const check = { name: 'backups' }
  const [place, isMissing] = [await openPlace(config, address), !isBucket && !isThere(address)]
  const lost = em && (await lostPlace(em, place, address))
  if (lost !== null) return { ...check, status: 'failed', message: lost }
  if (isMissing) {
    const advice = 'The server creates it at startup. If it should be on a separate volume, mount that volume first.'
    return { ...check, status: 'warning', message: `The backup folder ${address} does not exist.`, advice }
  }
  await place.check()
  const within = describeOverlap(config, address)
  if (within !== null) {
    const advice = 'Set BACKUP_TO to a folder or bucket outside of the data.'
    return { ...check, status: 'failed', message: `The backup destination ${address} ${within}.`, advice }
  }
  const foreign = em && (await foreignPlace(em, place))
  if (foreign !== null) return { ...check, status: 'failed', message: foreign }
  return (em && (await lastBackup(em))) ?? { ...check, status: 'ok', message: `The backup destination ${place.name} is writable.` }
}

/** Reports that the last scheduled backup failed or is incomplete. Returns null if it is complete, or there was none. */
async function lastBackup(em: EntityManager): Promise<Check | null> {
  const check = { name: 'backups', status: 'warning' } as const
  const { lastSuccess, lastFailure } = await readState(em)
  if (lastFailure && (!lastSuccess || lastFailure.at > lastSuccess.at))
    return { ...check, message: `The last scheduled backup failed at ${lastFailure.at}: ${lastFailure.reason}` }
  if (!lastSuccess || lastSuccess.lacking === 0) return null
  const message = `The last scheduled backup, ${lastSuccess.id}, lacks ${lastSuccess.lacking} archives or documentation files that are missing or damaged on the server.`
  const advice = `To find the affected versions: ${adminCommand} check-integrity`
  return { ...check, message, advice }
}
