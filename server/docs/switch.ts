import { z } from 'zod'
import type { Services } from '../services.ts'
import { readSetting, type Setting } from '../settings/service.ts'

/** What of the settings of scoring, which come along with those of documentation, matters here. */
const docsSetting: Setting<{ docsEnabled: boolean }> = {
  key: 'scoring',
  schema: z
    .object({ docsEnabled: z.boolean(), scoringEnabled: z.boolean() })
    .transform(({ docsEnabled, scoringEnabled }) => ({ docsEnabled: docsEnabled && scoringEnabled })),
  initial: { docsEnabled: true },
}

/** Whether documentation is generated on this server. */
export const areDocsOn = async ({ config, database }: Pick<Services, 'config' | 'database'>): Promise<boolean> =>
  config.SCORING_ENABLED && (await readSetting(database.reads, docsSetting)).docsEnabled
