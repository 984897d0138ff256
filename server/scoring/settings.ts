import { z } from 'zod'
import type { Services } from '../services.ts'
import { readSetting, type Setting } from '../settings/service.ts'

/** Whether versions are analyzed. Publishing looks at its row in SQL, so it stands alone. */
export const scoringSwitch: Setting<boolean> = { key: 'scoring.enabled', schema: z.boolean(), initial: true }

const schema = z.object({
  /** Whether API documentation is generated along with it. */
  docsEnabled: z.boolean(),
  /** How many versions each server process analyzes at once. */
  concurrency: z.int(),
  /** How long the analysis of a version may take. */
  timeoutSeconds: z.int(),
})
export type ScoringSettings = z.infer<typeof schema>

/** How many analyses a process runs at once at most. */
export const maxConcurrency = 16

/** How they are analyzed. */
export const scoringSettings: Setting<ScoringSettings> = {
  key: 'scoring',
  schema,
  initial: { docsEnabled: true, concurrency: 1, timeoutSeconds: 300 },
}

type Reader = Pick<Services, 'config' | 'database'>

export const currentSettings = ({ database }: Reader): Promise<ScoringSettings> => readSetting(database.reads, scoringSettings)

/** Whether versions are analyzed on this server now: where the environment says no, none is. */
export const isScoringOn = async ({ config, database }: Reader): Promise<boolean> =>
  config.SCORING_ENABLED && (await readSetting(database.reads, scoringSwitch))
