import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { batched } from '../db/batched.ts'
import type { Services } from '../services.ts'
import { readSetting, readSettingIn, type Setting } from './service.ts'

const schema = z.object({
  /** Whether versions are analyzed. */
  scoringEnabled: z.boolean(),
  /** Whether API documentation is generated along with it. */
  docsEnabled: z.boolean(),
  /** How many versions each server process analyzes at once. */
  concurrency: z.int(),
  /** How long pana may take for a version; the built-in engine has a limit of its own. */
  timeoutSeconds: z.int(),
})
/** What administrators decide about scoring. */
export type ScoringSettings = z.infer<typeof schema>

/** How many analyses a process runs at once at most. */
export const maxConcurrency = 16

export const scoringSettings: Setting<ScoringSettings> = {
  key: 'scoring',
  schema,
  initial: { scoringEnabled: true, docsEnabled: true, concurrency: 1, timeoutSeconds: 300 },
}

/** SQL: whether administrators switched scoring off, for a statement that would otherwise ask before. */
export const isSwitchedOff = `exists (select 1 from server_settings where key = '${scoringSettings.key}' and value like '%"scoringEnabled":false%')`

type Reader = Pick<Services, 'config' | 'database'>

/** What holds on this server now: where the environment says no, nothing is analyzed. */
export async function currentSettings({ config, database }: Reader): Promise<ScoringSettings> {
  const settings = await readSetting(database.reads, scoringSettings)
  return config.SCORING_ENABLED ? settings : { ...settings, scoringEnabled: false }
}

const loadSettings = batched(async (em, [key = '']) => new Map([[key, await readSettingIn(em, scoringSettings)]]))

/** The same, read once for all who ask at the same moment, such as the fields of a list. */
export async function loadScoringSettings(request: Pick<Reader, 'config'> & { em: EntityManager }): Promise<ScoringSettings> {
  const settings = (await loadSettings(request, scoringSettings.key)) ?? scoringSettings.initial
  return request.config.SCORING_ENABLED ? settings : { ...settings, scoringEnabled: false }
}

/** Whether versions are analyzed now. */
export const isScoringOn = async (reader: Reader): Promise<boolean> => (await currentSettings(reader)).scoringEnabled

/** How many versions a process may analyze at once now: none while scoring is off. */
export async function roomFor(reader: Reader): Promise<number> {
  const { scoringEnabled, concurrency } = await currentSettings(reader)
  return scoringEnabled ? concurrency : 0
}
