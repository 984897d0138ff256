import { AuditEntry } from '../../server/audit/entity.ts'
import type { TestApp } from '../app.ts'

/** So many entries, a second apart; the last is the newest. */
export async function fill(
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
