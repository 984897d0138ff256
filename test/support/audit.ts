import { AuditEntry } from '../../server/accounts/audit/entity.ts'
import type { TestApp } from '../app.ts'

/** Adds `count` audit entries, oldest first. */
export async function addEntries(
  app: TestApp,
  count: number,
  entry: (
    n: number,
  ) => { kind: string; summary: string } & Partial<
    Pick<AuditEntry, 'actorId' | 'userId' | 'package' | 'version' | 'clientIp' | 'createdAt'>
  >,
) {
  const em = app.services.database.fork()
  for (let n = 0; n < count; n++) em.create(AuditEntry, { clientIp: null, ...entry(n) })
  await em.flush()
}

/** Drops the triggers that make audit entries, links and cuts immutable, as the owner of the tables can. */
export async function dropAuditTriggers(app: TestApp): Promise<void> {
  const triggers =
    app.config.DB_BACKEND === 'postgres'
      ? 'select trigger_name as name, event_object_table as "table" from information_schema.triggers where trigger_name like \'audit%\' group by 1, 2'
      : "select name, tbl_name as \"table\" from sqlite_master where type = 'trigger' and name like 'audit%'"
  for (const { name, table } of await app.services.database.reads.all<Record<'name' | 'table', string>>(triggers))
    await app.services.database.orm.em.execute(`drop trigger ${name}${app.config.DB_BACKEND === 'postgres' ? ` on ${table}` : ''}`)
}
