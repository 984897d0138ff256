import type { EntityManager } from '@mikro-orm/sql'
import { expressionBuilder } from 'kysely'
import { z } from 'zod'
import { db, type Tables } from '../db/query.ts'
import type { Services } from '../../services.ts'
import { loadSetting, readSetting, type Setting } from './service.ts'

const schema = z.object({
  /** Whether versions are analyzed. */
  scoringEnabled: z.boolean(),
  /** Whether the analysis also generates API documentation. */
  docsEnabled: z.boolean(),
  /** Number of concurrent analyses per server process. */
  concurrency: z.int(),
  /** Time limit of pana per version. The built-in engine has its own limit. */
  timeoutSeconds: z.int(),
})
/** The scoring settings that administrators can change. */
export type ScoringSettings = z.infer<typeof schema>

/** Maximum number of concurrent analyses per process. */
export const maxConcurrency = 16

export const scoringSettings: Setting<ScoringSettings> = {
  key: 'scoring',
  schema,
  initial: { scoringEnabled: true, docsEnabled: true, concurrency: 1, timeoutSeconds: 300 },
}

/** Whether administrators disabled scoring, as a condition of a query. Saves a separate query. */
export const isSwitchedOff = expressionBuilder<Tables>().exists(
  db.selectFrom('server_settings').select('key').where('key', '=', scoringSettings.key).where('value', 'like', '%"scoringEnabled":false%'),
)

type Reader = Pick<Services, 'config' | 'database'>

/** Returns the effective settings. SCORING_ENABLED=false overrides the setting. */
export async function currentSettings({ config, database }: Reader): Promise<ScoringSettings> {
  const settings = await readSetting(database.reads, scoringSettings)
  return config.SCORING_ENABLED ? settings : { ...settings, scoringEnabled: false }
}

/** Returns the effective settings. Reads them once for all concurrent calls of a request, such as for the fields of a list. */
export async function loadScoringSettings(request: Pick<Reader, 'config'> & { em: EntityManager }): Promise<ScoringSettings> {
  const settings = await loadSetting(request, scoringSettings)
  return request.config.SCORING_ENABLED ? settings : { ...settings, scoringEnabled: false }
}

/** Returns whether versions are analyzed. */
export const isScoringOn = async (reader: Reader): Promise<boolean> => (await currentSettings(reader)).scoringEnabled

/** Returns how many versions a process may analyze concurrently: 0 while scoring is disabled. */
export async function concurrencyLimit(reader: Reader): Promise<number> {
  const { scoringEnabled, concurrency } = await currentSettings(reader)
  return scoringEnabled ? concurrency : 0
}
