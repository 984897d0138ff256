import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import { newId } from '../../platform/db/base.ts'
import { db } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { notFound } from '../../errors.ts'
import { Advisory, AdvisoryPackage } from './entity.ts'
import { markAdvisoriesChanged } from './service.ts'
import { affectedPackages, type Osv, parseAdvisories, storedOsv } from './osv.ts'

/** `actor` is null for an operator using the command line. */
export type Importer = { em: EntityManager; actor: { id: string; displayName: string } | null; ip?: string | null; now: Date }

/** Result of an import: OSV ids of the advisories by outcome. */
export type ImportResult = Record<'imported' | 'updated' | 'unchanged', string[]>

/**
 * Imports one advisory or a list of them, given as JSON text in OSV format. All are imported or none. An existing advisory is replaced only by a
 * newer one, so repeated imports change nothing.
 * @throws ApiError InvalidInput.
 */
export async function importAdvisories(importer: Importer, text: string): Promise<ImportResult> {
  const { em, actor, ip, now } = importer
  // Use a fixed order, so that concurrent imports wait for each other instead of deadlocking.
  const advisories = parseAdvisories(text).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return em.fork().transactional(async (inner) => {
    const result: ImportResult = { imported: [], updated: [], unchanged: [] }
    const names = new Set<string>()
    for (const advisory of advisories) {
      const { outcome, affected } = await save(inner, advisory, now)
      result[outcome].push(advisory.id)
      for (const name of affected) names.add(name)
    }
    await markAdvisoriesChanged(inner, [...names], now)
    const changed = [...result.imported, ...result.updated]
    if (changed.length > 0) {
      const summary = `${actor?.displayName ?? 'The operator'} imported ${counted(changed.length)}: ${changed.join(', ')}`
      audit(inner, { kind: 'server.settings_updated', actor, summary, ip: ip ?? null })
    }
    return result
  })
}

/**
 * Withdraws an advisory. It remains stored, but no longer applies to packages. Importing a newer version can restore it.
 * @throws ApiError NotFound.
 */
export async function withdrawAdvisory(importer: Importer, osvId: string): Promise<Advisory> {
  return change(importer, osvId, 'withdrew', (em, advisory) => {
    if (advisory.withdrawnAt) return false
    const { now } = importer
    const modified = new Date(Math.max(now.getTime(), advisory.modifiedAt.getTime() + 1))
    const osv = { ...storedOsv(advisory.document), withdrawn: now.toISOString(), modified: modified.toISOString() }
    em.assign(advisory, { withdrawnAt: now, modifiedAt: modified, document: JSON.stringify(osv) })
    return true
  })
}

/**
 * Deletes an advisory and its links to packages.
 * @throws ApiError NotFound.
 */
export async function removeAdvisory(importer: Importer, osvId: string): Promise<void> {
  await change(importer, osvId, 'removed', (em, advisory) => {
    em.remove(advisory)
    return true
  })
}

async function change(
  { em, actor, ip, now }: Importer,
  osvId: string,
  verb: string,
  make: (em: EntityManager, advisory: Advisory) => boolean,
): Promise<Advisory> {
  return em.fork().transactional(async (inner) => {
    const advisory = await inner.findOne(Advisory, { osvId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!advisory) throw notFound(`There is no advisory ${osvId} on this server.`)
    const names = (await inner.find(AdvisoryPackage, { advisory })).map(({ packageName }) => packageName)
    if (make(inner, advisory)) {
      await markAdvisoriesChanged(inner, names, now)
      const summary = `${actor?.displayName ?? 'The operator'} ${verb} the security advisory ${osvId}`
      audit(inner, { kind: 'server.settings_updated', actor, summary, ip: ip ?? null })
    }
    return advisory
  })
}

/**
 * Inserts or updates an advisory. The first statement must be a write: on SQLite, a write waits for a concurrent writer, but upgrading a read
 * transaction to a write would fail.
 */
async function save(em: EntityManager, osv: Osv, now: Date): Promise<{ outcome: keyof ImportResult; affected: string[] }> {
  const id = newId()
  const changeable = {
    modified_at: new Date(osv.modified),
    withdrawn_at: osv.withdrawn ? new Date(osv.withdrawn) : null,
    summary: summaryOf(osv),
    document: JSON.stringify(osv),
  }
  const insert = db
    .insertInto('advisories')
    .values({ id, created_at: now, osv_id: osv.id, ...changeable })
    .onConflict((known) => known.column('osv_id').doUpdateSet(changeable).whereRef('advisories.modified_at', '<', 'excluded.modified_at'))
  const row = await readRow(em, insert.returning('id'))
  if (!row) return { outcome: 'unchanged', affected: [] }
  const names = [...new Set(affectedPackages(osv).map((entry) => entry.package.name))]
  const before = row.id === id ? [] : await em.find(AdvisoryPackage, { advisory: row.id })
  await em.nativeDelete(AdvisoryPackage, { advisory: row.id })
  await em.insertMany(
    AdvisoryPackage,
    names.map((packageName) => ({ advisory: row.id, packageName })),
  )
  return { outcome: row.id === id ? 'imported' : 'updated', affected: [...names, ...before.map(({ packageName }) => packageName)] }
}

/** Returns a one-line summary: the advisory's summary, or else the first line of its details, or else its id. */
function summaryOf({ id, summary, details }: Osv): string {
  const [line = ''] = (summary?.trim() || details?.trim() || id).split('\n')
  // PostgreSQL cannot store NUL; other control characters are not printable.
  return line
    .replace(/\p{Cc}/gu, ' ')
    .replace(/^#+\s*/, '')
    .slice(0, 500)
    .toWellFormed()
}

const counted = (amount: number) => (amount === 1 ? 'a security advisory' : `${amount} security advisories`)
