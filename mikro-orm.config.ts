import { Migrator } from '@mikro-orm/migrations'
import { defineConfig as postgres } from '@mikro-orm/postgresql'
import { defineConfig as sqlite } from '@mikro-orm/sqlite'
import { commonOptions } from './server/platform/db/options.ts'
import { entities } from './server/entities.ts'

// Configuration for the MikroORM command line. The server opens its own connections with the same options.
const url = process.env.POSTGRES_URL ?? 'postgres://localhost/snug'
export default process.env.DB_BACKEND === 'postgres'
  ? postgres({ ...commonOptions('postgres'), entities, clientUrl: url, extensions: [Migrator] })
  : sqlite({ ...commonOptions('sqlite'), entities, dbName: process.env.SQLITE_PATH ?? ':memory:', extensions: [Migrator] })
