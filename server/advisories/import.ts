import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import { newId } from '../db/base.ts'
import { notFound } from '../errors.ts'
import { Advisory, AdvisoryPackage } from './entity.ts'
import { announceAdvisories } from './announce.ts'
import { affectedPackages, type Osv, parseAdvisories, storedOsv } from './osv.ts'

/** Who does it: null for the operator, on the server's machine. */
export type Importer = { em: EntityManager; actor: { id: string; displayName: string } | null; ip?: string | null; now: Date }

/** What became of the advisories of an import, by their OSV ids. */
export type ImportResult = Record<'imported' | 'updated' | 'unchanged', string[]>

/**
 * Keeps advisories, one or a list of them as JSON text in OSV form: all or none. One that is here already is replaced by a newer one only, so
 * that importing the same again changes nothing.
 * @throws ApiError InvalidInput.
 */
export async function importAdvisories(importer: Importer, text: string): Promise<ImportResult> {
  const { em, actor, ip, now } = importer
  // In one order everywhere, so that two imports at once wait for each other and never cross.
  const advisories = parseAdvisories(text).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return em.fork().transactional(async (inner) => {
    const result: ImportResult = { imported: [], updated: [], unchanged: [] }
    const names = new Set<string>()
    for (const advisory of advisories) {
      const { outcome, concerned } = await keep(inner, advisory, now)
      result[outcome].push(advisory.id)
      for (const name of concerned) names.add(name)
    }
    await announceAdvisories(inner, [...names], now)
    const changed = [...result.imported, ...result.updated]
    if (changed.length > 0) {
      const summary = `${actor?.displayName ?? 'The operator'} imported ${counted(changed.length)}: ${changed.join(', ')}`
      audit(inner, { kind: 'server.settings_updated', actor, summary, ip: ip ?? null })
    }
    return result
  })
}

/**
 * Withdraws an advisory: it stays here for the record, and nobody is warned any more. A newer import may bring it back.
 * @throws ApiError NotFound.
 */
export async function withdrawAdvisory(importer: Importer, osvId: string): Promise<Advisory> {
  return change(importer, osvId, 'withdrew', async (em, advisory, now) => {
    if (advisory.withdrawnAt) return false
    const modified = new Date(Math.max(now.getTime(), advisory.modifiedAt.getTime() + 1))
    const osv = { ...storedOsv(advisory.document), withdrawn: now.toISOString(), modified: modified.toISOString() }
    em.assign(advisory, { withdrawnAt: now, modifiedAt: modified, document: JSON.stringify(osv) })
    return true
  })
}

/**
 * Removes an advisory with everything that was known of it.
 * @throws ApiError NotFound.
 */
export async function removeAdvisory(importer: Importer, osvId: string): Promise<void> {
  await change(importer, osvId, 'removed', async (em, advisory) => {
    em.remove(advisory)
    return true
  })
}

type Change = (em: EntityManager, advisory: Advisory, now: Date) => Promise<boolean>

async function change({ em, actor, ip, now }: Importer, osvId: string, verb: string, make: Change): Promise<Advisory> {
  return em.fork().transactional(async (inner) => {
    const advisory = await inner.findOne(Advisory, { osvId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!advisory) throw notFound(`There is no advisory ${osvId} on this server.`)
    const rows = await inner.find(AdvisoryPackage, { advisory })
    if (await make(inner, advisory, now)) {
      await announceAdvisories(
        inner,
        rows.map(({ packageName }) => packageName),
        now,
      )
      const summary = `${actor?.displayName ?? 'The operator'} ${verb} the security advisory ${osvId}`
      audit(inner, { kind: 'server.settings_updated', actor, summary, ip: ip ?? null })
    }
    return advisory
  })
}

type Kept = { outcome: keyof ImportResult; concerned: string[] }

/** The first statement writes: beside a running server it waits for its turn, where a write after a read would fail. */
async function keep(em: EntityManager, osv: Osv, now: Date): Promise<Kept> {
  const id = newId()
  const [row] = await em.execute<{ id: string }[]>(
    `insert into advisories (id, created_at, osv_id, modified_at, withdrawn_at, summary, document) values (?, ?, ?, ?, ?, ?, ?)
     on conflict (osv_id) do update set modified_at = excluded.modified_at, withdrawn_at = excluded.withdrawn_at,
       summary = excluded.summary, document = excluded.document
     where advisories.modified_at < excluded.modified_at returning id`,
    [id, now, osv.id, new Date(osv.modified), osv.withdrawn ? new Date(osv.withdrawn) : null, summaryOf(osv), JSON.stringify(osv)],
  )
  if (!row) return { outcome: 'unchanged', concerned: [] }
  const names = [...new Set(affectedPackages(osv).map((entry) => entry.package.name))]
  const before = row.id === id ? [] : await em.find(AdvisoryPackage, { advisory: row.id })
  await em.nativeDelete(AdvisoryPackage, { advisory: row.id })
  await em.insertMany(
    AdvisoryPackage,
    names.map((packageName) => ({ advisory: row.id, packageName })),
  )
  return { outcome: row.id === id ? 'imported' : 'updated', concerned: [...names, ...before.map(({ packageName }) => packageName)] }
}

/** What it is about in a line: its summary, else the first line of its details. */
function summaryOf({ id, summary, details }: Osv): string {
  const [line = ''] = (summary?.trim() || details?.trim() || id).split('\n')
  // PostgreSQL stores no NUL, and nobody reads the other control characters.
  return line
    .replace(/\p{Cc}/gu, ' ')
    .replace(/^#+\s*/, '')
    .slice(0, 500)
    .toWellFormed()
}

const counted = (amount: number) => (amount === 1 ? 'a security advisory' : `${amount} security advisories`)
