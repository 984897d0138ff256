import { BasePostgreSqlPlatform, type MikroORM } from '@mikro-orm/sql'

/**
 * Returns whether the database has a table. On PostgreSQL, `to_regclass` replaces the ORM's query of the information schema, which takes milliseconds
 * to plan on a new connection; every start checks several tables.
 */
export async function hasTable(orm: MikroORM, name: string): Promise<boolean> {
  const connection = orm.em.getConnection()
  const platform = orm.em.getPlatform()
  if (!(platform instanceof BasePostgreSqlPlatform))
    return (await platform.getSchemaHelper()?.tableExists(connection, name, undefined)) ?? false
  const rows: unknown[] = await connection.execute('select 1 where to_regclass(?) is not null', [`public.${name}`])
  return rows.length > 0
}
