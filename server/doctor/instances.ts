import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../config/config.ts'
import { deriveKeys } from '../http/keys.ts'
import { disagreements } from '../instances/register.ts'
import type { Check } from './check.ts'

/** Looks whether the instances that are running have the settings that this command has. Without PostgreSQL there is only one. */
export async function checkInstances(config: Config, em: EntityManager): Promise<Check[]> {
  if (config.DB_BACKEND === 'sqlite') return []
  const { running, problems } = await disagreements(em, config, deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS))
  const check = { name: 'instances' }
  if (problems.length === 0) return [{ ...check, status: 'ok', message: `Running instances: ${running}. Their settings agree with these.` }]
  const advice = 'Give all instances, and this command, the same settings.'
  return problems.map((message) => ({ ...check, status: 'warning', message, advice }))
}
