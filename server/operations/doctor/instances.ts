import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../../platform/config/config.ts'
import { deriveKeys } from '../../platform/http/keys.ts'
import { disagreements } from '../instances/register.ts'
import type { Check } from './check.ts'

/** Checks that the running instances have the same settings as this command. SQLite supports only one instance. */
export async function checkInstances(config: Config, em: EntityManager): Promise<Check[]> {
  if (config.DB_BACKEND === 'sqlite') return []
  const { running, problems } = await disagreements(em, config, deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS))
  const check = { name: 'instances' }
  if (problems.length === 0) return [{ ...check, status: 'ok', message: `Running instances: ${running}. Their settings match.` }]
  const advice = 'Use the same settings for all instances and for this command.'
  return problems.map((message) => ({ ...check, status: 'warning', message, advice }))
}
