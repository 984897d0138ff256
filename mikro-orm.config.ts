import { Migrator } from '@mikro-orm/migrations'
import { defineConfig as postgres } from '@mikro-orm/postgresql'
import { defineConfig as sqlite } from '@mikro-orm/sqlite'
import { commonOptions } from './server/db/options.ts'
import { entities } from './server/entities.ts'

// For the schema tools: `npm run migration -- <name>` writes the next migration for both databases. The server makes its own connection.
const url = process.env.POSTGRES_URL ?? 'postgres://localhost/snug'
export default process.env.DB_BACKEND === 'postgres'
  ? postgres({ ...commonOptions('postgres'), entities, clientUrl: url, extensions: [Migrator] })
  : sqlite({ ...commonOptions('sqlite'), entities, dbName: process.env.SQLITE_PATH ?? ':memory:', extensions: [Migrator] })
