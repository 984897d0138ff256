import { saveDownloads } from '../../server/registry/downloads/tally.ts'
import type { TestApp } from '../app.ts'

/** Flushes the download counters of every instance to the database. */
export async function writeDownloads({ instances }: Pick<TestApp, 'instances'>): Promise<void> {
  for (const { services } of instances) await saveDownloads(services)
}
