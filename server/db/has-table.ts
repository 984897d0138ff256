import { BasePostgreSqlPlatform, type MikroORM } from '@mikro-orm/sql'

/**
 * Whether the database has a table. Every start asks for several. The ORM would ask PostgreSQL's information schema, which takes some
 * milliseconds to plan on a new connection.
 */
export async function hasTable(orm: MikroORM, name: string): Promise<boolean> {
  const connection = orm.em.getConnection()
  const platform = orm.em.getPlatform()
  if (!(platform instanceof BasePostgreSqlPlatform))
    return (await platform.getSchemaHelper()?.tableExists(connection, name, undefined)) ?? false
  const rows: unknown[] = await connection.execute('select 1 where to_regclass(?) is not null', [`public.${name}`])
  return rows.length > 0
}
