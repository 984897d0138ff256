import type { Services } from '../services.ts'
import { currentSettings } from '../settings/scoring.ts'

/** Whether documentation is generated on this server: an analysis does that. */
export async function areDocsOn(services: Pick<Services, 'config' | 'database'>): Promise<boolean> {
  const { scoringEnabled, docsEnabled } = await currentSettings(services)
  return scoringEnabled && docsEnabled
}
