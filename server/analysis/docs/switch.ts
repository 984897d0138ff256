import type { Services } from '../../services.ts'
import { currentSettings, type ScoringSettings } from '../../platform/settings/scoring.ts'

/** Returns whether documentation is generated on this server, as part of analyses. */
export const areDocsOn = async (services: Pick<Services, 'config' | 'database'>): Promise<boolean> =>
  generatesDocs(await currentSettings(services))

/** Returns whether these settings enable documentation. */
export const generatesDocs = ({ scoringEnabled, docsEnabled }: ScoringSettings): boolean => scoringEnabled && docsEnabled
