import type { Services } from '../services.ts'
import { currentSettings, type ScoringSettings } from '../settings/scoring.ts'

/** Whether documentation is generated on this server: an analysis does that. */
export const areDocsOn = async (services: Pick<Services, 'config' | 'database'>): Promise<boolean> =>
  generatesDocs(await currentSettings(services))

/** The same, by settings that were read. */
export const generatesDocs = ({ scoringEnabled, docsEnabled }: ScoringSettings): boolean => scoringEnabled && docsEnabled
