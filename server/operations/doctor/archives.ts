import type { EntityManager } from '@mikro-orm/sql'
import { knownFaults } from '../../registry/packages/faults/faults.ts'
import { adminCommand } from '../../platform/config/version.ts'
import type { Check } from './check.ts'

/** Maximum number of archives listed in the message. */
const maxNamed = 3

/** Checks whether any archives are known to be missing or damaged. Does not read archives; `check-integrity` does. */
export async function checkArchives(em: EntityManager): Promise<Check[]> {
  const faults = await knownFaults({ all: (sql) => em.execute(sql) })
  if (faults.length === 0) return [{ name: 'archives', status: 'ok', message: 'No archive is known to be missing or damaged.' }]
  const named = faults.slice(0, maxNamed).map((fault) => `${fault.package} ${fault.version} (${fault.kind})`)
  const more = faults.length > maxNamed ? ', and others' : ''
  const message = `Archives of versions cannot be downloaded: ${named.join(', ')}${more}.`
  const advice = `Copy the files from a backup into the store. The server detects them within ten minutes. To check all archives: ${adminCommand} check-integrity`
  return [{ name: 'archives', status: 'failed', message, advice }]
}
