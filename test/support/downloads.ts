import { saveDownloads } from '../../server/downloads/tally.ts'
import type { TestApp } from '../app.ts'

/** Has each instance write down which downloads it counted. */
export async function writeDownloads({ instances }: Pick<TestApp, 'instances'>): Promise<void> {
  for (const { services } of instances) await saveDownloads(services)
}
