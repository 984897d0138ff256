import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { audit } from '../../accounts/audit/service.ts'
import { newId, currentTimeOf } from '../../platform/db/base.ts'
import { changeRows, insertRows } from '../../platform/db/statements.ts'
import { newestFirst, type PageArguments } from '../../platform/graphql/connections.ts'
import { type LogLevel, ScoringLogEntry } from './entity.ts'

export type LogLine = { level: LogLevel; package?: string; version?: string; message: string }

const maxEntries = 1000

/** Adds an entry to the scoring log and deletes the oldest entries beyond the limit. Runs in the transaction of `em`, if there is one. */
export async function writeLog(em: EntityManager, { level, package: name, version, message }: LogLine): Promise<void> {
  const row = { id: newId(), created_at: currentTimeOf(em), level, package: name ?? null, version: version ?? null }
  await insertRows(em, 'scoring_log', [{ ...row, message: message.slice(0, 1000) }])
  await changeRows(em, `delete from scoring_log where id <= (select id from scoring_log order by id desc limit 1 offset ${maxEntries})`, [])
}

export type LogFilter = { level?: LogLevel | null | undefined; package?: string | null | undefined }

/** Returns the scoring log as a connection, newest entries first. */
export const listLog = (em: EntityManager, { level, package: name }: LogFilter, page: PageArguments) =>
  newestFirst(em, ScoringLogEntry, { ...(level && { level }), ...(name && { package: name }) }, page)

/** Clears the scoring log. The audit log records by whom. */
export function clearLog({ em, viewer, ip }: SignedInContext): Promise<void> {
  return em.fork().transactional(async (inner) => {
    await inner.nativeDelete(ScoringLogEntry, {})
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary: 'Cleared the scoring log', ip })
  })
}
