import { verifyBackups } from '../backup/verify/backups.ts'
import { verifyPlace } from '../backup/verify/server.ts'
import type { Verified } from '../backup/verify/findings.ts'
import type { Config } from '../../platform/config/config.ts'
import { openUnlocked } from '../../platform/db/open/orm.ts'
import { openStores } from '../../platform/store/open.ts'
import type { Outcome } from './command.ts'
import { counted } from './counted.ts'

/**
 * Verifies the backups in a location, or all data of this server if no location is given.
 * @returns the message for the operator; `ok` is false when something is missing or damaged.
 * @throws ApiError NotFound for a location without backups.
 */
export async function verify(config: Config, place?: string): Promise<Outcome> {
  const verified = place === undefined ? await verifyServer(config) : await verifyBackups(config, place)
  return { text: describe(verified), data: verified, ok: verified.problems.length === 0 }
}

async function verifyServer(config: Config): Promise<Verified> {
  const orm = await openUnlocked(config)
  try {
    return await verifyPlace({ em: orm.em.fork(), config, stores: await openStores(config) })
  } finally {
    await orm.close(true)
  }
}

function describe({ checked, problems }: Verified): string {
  const lines = problems.map(({ where, problem }) => `${where}: ${problem}`)
  const counts = Object.entries(checked).map(([what, count]) => counted(count, what))
  return [
    ...lines,
    `Verified ${counts.join(', ')}: ${problems.length === 0 ? 'no problems found' : counted(problems.length, 'problems')}.`,
  ].join('\n')
}
