import { BasePostgreSqlPlatform, type MikroORM } from '@mikro-orm/sql'
import { ConfigError } from '../../config/config.ts'
import { nameOfDatabase } from '../location/missing.ts'
import type { DatabaseConfig } from '../options.ts'

type Place = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/** Maximum number of tables listed in the message. */
const maxNamed = 3

/** Returns the tables of a database except `own`. Tables of PostgreSQL extensions and of schemas other than `public` are ignored. */
export async function foreignTables(orm: MikroORM, own: string[]): Promise<string[]> {
  const sql = orm.em.getPlatform() instanceof BasePostgreSqlPlatform ? postgresTables : sqliteTables
  const rows: { name: string }[] = await orm.em.getConnection().execute(sql)
  return rows.map(({ name }) => name).filter((name) => !own.includes(name))
}

/** Returns the error for a database that contains tables of another program. */
export function foreignDatabase(place: Place, tables: string[]): ConfigError {
  const named = `${tables.slice(0, maxNamed).join(', ')}${tables.length > maxNamed ? ' and others' : ''}`
  const [setting, remedy] =
    place.DB_BACKEND === 'postgres'
      ? ['POSTGRES_URL', 'Create an empty database for Snug (createdb) and use that instead.']
      : ['SQLITE_PATH', 'Use another file.']
  return new ConfigError([
    `${setting}: ${nameOfDatabase(place)} belongs to another program: it has the tables ${named}. Nothing was changed in it. ${remedy}`,
  ])
}

const postgresTables = `select relname as name from pg_class where relnamespace = to_regnamespace('public') and relkind in ('r', 'p', 'f')
  and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e') order by relname`
const sqliteTables = "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name"
