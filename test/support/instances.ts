import { type TestApp, testApp } from '../app.ts'

/** Several instances share one PostgreSQL; SQLite serves one process, which must then hold to the same: null. */
export const anotherInstance = async (app: TestApp): Promise<TestApp | null> =>
  app.config.DB_BACKEND === 'postgres' ? testApp({ sameDatabaseAs: app }) : null
