import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { enqueue } from '../../platform/jobs/queue.ts'
import { handler } from '../../platform/jobs/handler.ts'
import type { Progress } from '../../platform/jobs/lease.ts'
import type { Services } from '../../services.ts'
import { db } from '../../platform/db/query.ts'
import { readRow, rowsById } from '../../platform/db/statements.ts'
import { orphanedArchives } from '../../platform/store/collect.ts'
import { findFault } from '../../platform/store/transfer.ts'
import { IntegrityReport } from './entity.ts'
import { ArchiveFault } from '../../registry/packages/entity.ts'
import { clearFault, recordFault } from '../../registry/packages/listing/faults.ts'

/** A problem with stored bytes: of a version, or orphaned. */
const finding = z.object({
  kind: z.enum(['missing', 'damaged', 'orphan']),
  package: z.string().nullable(),
  version: z.string().nullable(),
  sha256: z.string(),
  bytes: z.number(),
})
export type Finding = z.infer<typeof finding>

/** Kind and subject of check jobs. At most one runs at a time. */
export const integrityCheckKind = 'integrity.check'
const everything = 'archives'

type Checked = Pick<Services, 'blobs' | 'now'> & { em: EntityManager }
type Report = (progress: Progress) => void

/** Queues a check of all archives. Returns the id of the job. */
export const requestCheck = ({ em, now }: Pick<Services, 'now'> & { em: EntityManager }): Promise<string> =>
  em.fork().transactional((inner) => enqueue(inner, { kind: integrityCheckKind, subject: everything }, now()))

/** Returns the handler of check jobs. */
export const integrityCheck = ({ database, blobs, now }: Pick<Services, 'database' | 'blobs' | 'now'>) =>
  handler(
    z.unknown(),
    async ({ progress, signal }) => {
      const report = (latest: Progress) => {
        signal.throwIfAborted()
        progress(latest)
      }
      await checkIntegrity({ em: database.fork(), blobs, now }, report)
    },
    { maxAttempts: 3, maxConcurrent: 1 },
  )

/**
 * Reads the archives of all versions and compares their hashes, then searches for orphaned files, and stores a report. Records missing and damaged
 * archives. Never modifies stored files. `report` receives the progress and can abort the check by throwing.
 */
export async function checkIntegrity(services: Checked, report: Report = () => {}): Promise<IntegrityReport> {
  const { em, now } = services
  const createdAt = now()
  const faulty = new Set((await em.find(ArchiveFault, {}, { disableIdentityMap: true })).map(({ sha256 }) => sha256))
  const sums = { archives: 0, bytes: 0, missing: 0, damaged: 0, orphans: 0, orphanBytes: 0 }
  const findings: Finding[] = []
  const note = (one: Finding) => findings.length < maxFindings && findings.push(one)
  for await (const { fault, ...archive } of checkArchives(services, report)) {
    sums.archives += 1
    sums.bytes += archive.bytes
    if (fault === null) {
      if (faulty.has(archive.sha256)) await clearFault(em, archive.sha256)
      continue
    }
    await recordFault(em, archive.sha256, fault, now())
    sums[fault] += 1
    note({ kind: fault, ...archive })
  }
  for await (const { sha256, bytes } of orphans(services, report)) {
    sums.orphans += 1
    sums.orphanBytes += bytes
    note({ kind: 'orphan', package: null, version: null, sha256, bytes })
  }
  const made = em.create(IntegrityReport, { ...sums, createdAt, finishedAt: now(), findings: JSON.stringify(findings) })
  await em.flush()
  await forgetOld(em)
  return made
}

/** Returns the latest report, or null. */
export const latestReport = (em: EntityManager): Promise<IntegrityReport | null> =>
  em.findOne(IntegrityReport, { id: { $ne: null } }, { orderBy: { id: 'desc' } })

/** Returns the first findings of a report. */
export const findingsOf = ({ findings }: IntegrityReport): Finding[] => z.array(finding).parse(JSON.parse(findings))

const maxFindings = 500
const maxReports = 20
const batchSize = 200

type Archive = { package: string; version: string; sha256: string; bytes: number }

/** Yields the state of the archive of each version. Skips versions that are deleted during the check. */
async function* checkArchives({ em, blobs }: Checked, report: Report) {
  const row = await readRow(
    em,
    db.selectFrom('package_versions').select(({ fn }) => fn.countAll<number>().as('total')),
  )
  const total = row?.total ?? 0
  let done = 0
  for await (const { id, ...archive } of versions(em)) {
    report({ phase: 'archives', done: done++, total: Math.max(total, done) })
    const fault = await findFault(blobs, archive.sha256)
    if (fault === null || (await isThere(em, id))) yield { fault, ...archive }
  }
  report({ phase: 'archives', done, total: done })
}

const versions = (em: EntityManager): AsyncGenerator<Archive & { id: string }> =>
  rowsById(
    em,
    (after) =>
      db
        .selectFrom('package_versions as v')
        .innerJoin('packages as p', 'p.id', 'v.package_id')
        .select(['v.id', 'p.name as package', 'v.version', 'v.archive_sha256 as sha256', 'v.archive_bytes as bytes'])
        .where('v.id', '>', after)
        .orderBy('v.id'),
    { batch: batchSize },
  )

const isThere = async (em: EntityManager, id: string) =>
  (await readRow(em, db.selectFrom('package_versions').select('id').where('id', '=', id))) !== undefined

/** Yields stored files that no version refers to, except for files of the last hour, which may belong to an upload in progress. */
function orphans(services: Checked, report: Report) {
  let done = 0
  const hourAgo = new Date(services.now().getTime() - 3_600_000)
  return orphanedArchives(services, hourAgo, () => report({ phase: 'orphans', done: done++, total: null }))
}

async function forgetOld(em: EntityManager): Promise<void> {
  const [oldest] = await em.find(IntegrityReport, {}, { orderBy: { id: 'desc' }, offset: maxReports - 1, limit: 1, fields: ['id'] })
  if (oldest) await em.nativeDelete(IntegrityReport, { id: { $lt: oldest.id } })
}
