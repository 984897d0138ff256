import { Migrator } from '@mikro-orm/migrations'
import { defineConfig as postgres } from '@mikro-orm/postgresql'
import { defineConfig as sqlite } from '@mikro-orm/sqlite'
import { entities } from './server/entities.ts'
import { processEnvironment, readConfig } from './server/platform/config/config.ts'
import { commonOptions } from './server/platform/db/options.ts'

// Configuration for the MikroORM command line: `npx mikro-orm debug`. It opens the database of the server's settings, by default that of DATA_DIR.
const unused = { SERVER_URL: 'http://localhost', JWT_SECRET: '-'.repeat(32) }
const { DB_BACKEND, POSTGRES_URL = '', SQLITE_PATH } = readConfig({ ...unused, ...processEnvironment })
export default DB_BACKEND === 'postgres'
  ? postgres({ ...commonOptions('postgres'), entities, clientUrl: POSTGRES_URL, extensions: [Migrator] })
  : sqlite({ ...commonOptions('sqlite'), entities, dbName: SQLITE_PATH, extensions: [Migrator] })
