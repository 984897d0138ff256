import { type TestApp, testApp } from '../app.ts'

/**
 * Starts a second instance on the same PostgreSQL database. Returns null on SQLite, which supports a single process. Callers then use the first
 * instance twice.
 */
export const anotherInstance = async (app: TestApp): Promise<TestApp | null> =>
  app.config.DB_BACKEND === 'postgres' ? testApp({ sameDatabaseAs: app }) : null
