import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import { audit } from '../audit/service.ts'
import { newId } from '../db/base.ts'
import { currentTimeOf } from '../db/clock.ts'
import { changeRows, insertRows } from '../db/statements.ts'
import { newestFirst, type PageArguments } from '../graphql/connections.ts'
import { type LogLevel, ScoringLogEntry } from './entity.ts'

export type LogLine = { level: LogLevel; package?: string; version?: string; message: string }

/** So many lines are kept. */
const kept = 1000

/** Writes a line of the scoring log, in the transaction of `em` if it has one; the oldest lines go. */
export async function writeLog(em: EntityManager, { level, package: name, version, message }: LogLine): Promise<void> {
  const row = { id: newId(), created_at: currentTimeOf(em), level, package: name ?? null, version: version ?? null }
  await insertRows(em, 'scoring_log', [{ ...row, message: message.slice(0, 1000) }])
  await changeRows(em, `delete from scoring_log where id <= (select id from scoring_log order by id desc limit 1 offset ${kept})`, [])
}

export type LogFilter = { level?: LogLevel | null | undefined; package?: string | null | undefined }

/** The scoring log as a connection, the newest line first. */
export const listLog = (em: EntityManager, { level, package: name }: LogFilter, page: PageArguments) =>
  newestFirst(em, ScoringLogEntry, { ...(level && { level }), ...(name && { package: name }) }, page)

/** Clears the scoring log. The audit log records who did. */
export function clearLog({ em, viewer, ip }: SignedInContext): Promise<void> {
  return em.fork().transactional(async (inner) => {
    await inner.nativeDelete(ScoringLogEntry, {})
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary: 'Cleared the scoring log', ip })
  })
}
