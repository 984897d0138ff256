import { audit } from '../../../accounts/audit/service.ts'
import { notFound } from '../../../errors.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import { toDate } from '../../../platform/db/reads.ts'
import { changeRows, containing, readRow, readRows, type Value } from '../../../platform/db/statements.ts'
import { type PageArguments, pageByKey } from '../../../platform/graphql/connections.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { isOwnSql, isExcluded } from '../access.ts'
import { documentState, type DocumentKind } from '../documents.ts'

/** What the mirror keeps of an upstream package. */
export type MirroredPackage = {
  name: string
  archives: number
  bytes: number
  usedAt: Date
  checkedAt: Date | null
  failure: { at: Date; reason: string } | null
}

type Moment = number | string | Date
type Row = {
  name: string
  archives: number | string
  bytes: number | string
  used_at: Moment
  checked_at: Moment | null
  failed_at: Moment | null
}

/** Condition of the rows that count: a file is stored, or could not be fetched. */
const isKept = (row: string) => `(${row}.sha256 is not null or ${row}.failure is not null)`

/** The row of each package that was used last. */
const lastUsed = (where: string) =>
  `select e.name, e.used_at from mirror_entries e where e.name <> '' and ${isKept('e')} ${where} and not exists (
     select 1 from mirror_entries o where o.name = e.name and ${isKept('o')}
       and (o.used_at > e.used_at or (o.used_at = e.used_at and o.key < e.key)))`

const summaries = (names: string) =>
  `select name, sum(case when kind = 'archive' and sha256 is not null then 1 else 0 end) as archives, sum(bytes) as bytes,
     max(used_at) as used_at, max(case when kind = 'listing' then checked_at end) as checked_at, max(failed_at) as failed_at
   from mirror_entries where name in (${names}) and ${isKept('mirror_entries')} group by name order by used_at desc, name`

/** Returns the packages in the mirror as a connection, most recently used first. `q` filters by part of the name. */
export function listMirrored(
  em: EntityManager,
  q: string | null | undefined,
  page: PageArguments & { offset?: number | null | undefined },
) {
  const where = q ? "and e.name like ? escape '!'" : ''
  const values: Value[] = q ? [containing(q)] : []
  return pageByKey(page, {
    keyOf: ({ usedAt, name }: MirroredPackage) => `${usedAt.getTime()} ${name}`,
    isKey: (key) => /^\d{1,15} \S{1,64}$/.test(key),
    load: async (limit, after) => {
      const [moment = '', name = ''] = after?.split(' ') ?? []
      const at = new Date(Number(moment))
      const later = after === undefined ? '' : 'and e.used_at <= ? and (e.used_at < ? or e.name > ?)'
      const rows = await readRows<{ name: string }>(
        em,
        `${lastUsed(`${where} ${later}`)} order by e.used_at desc, e.name limit ? offset ?`,
        [...values, ...(after === undefined ? [] : [at, at, name]), limit, page.offset ?? 0],
      )
      return loadMirrored(
        em,
        rows.map((row) => row.name),
      )
    },
    count: async () =>
      Number(
        (
          await readRow<{ total: number | string }>(
            em,
            `select count(*) as total from (select e.name from mirror_entries e where e.name <> '' and ${isKept('e')} ${where} group by e.name) as found`,
            values,
          )
        )?.total ?? 0,
      ),
  })
}

/** Loads packages of the mirror, most recently used first. */
async function loadMirrored(em: EntityManager, names: string[]): Promise<MirroredPackage[]> {
  if (names.length === 0) return []
  return withFailures(em, await readRows<Row>(em, summaries(names.map(() => '?').join(', ')), names))
}

async function withFailures(em: EntityManager, rows: readonly Row[]): Promise<MirroredPackage[]> {
  const failing = rows.flatMap(({ name, failed_at }) => (failed_at === null ? [] : [name]))
  const failures = new Map<string, { at: Date; reason: string }>()
  if (failing.length > 0) {
    const sql = `select name, failed_at, failure from mirror_entries where failure is not null and name in (${failing.map(() => '?').join(', ')}) order by failed_at`
    const found = await readRows<{ name: string; failed_at: Moment; failure: string }>(em, sql, failing)
    for (const { name, failed_at, failure } of found) failures.set(name, { at: toDate(failed_at), reason: failure })
  }
  return rows.map(({ name, archives, bytes, used_at, checked_at }) => ({
    name,
    archives: Number(archives),
    bytes: Number(bytes),
    usedAt: toDate(used_at),
    checkedAt: checked_at === null ? null : toDate(checked_at),
    failure: failures.get(name) ?? null,
  }))
}

/** Size of the mirror: bytes of all files, number of listings and archives. */
export type MirrorSize = { bytes: number; listings: number; archives: number }

export async function mirrorSize(em: EntityManager): Promise<MirrorSize> {
  const row = await readRow<Record<keyof MirrorSize, number | string | null>>(
    em,
    `select sum(bytes) as bytes, sum(case when kind = 'listing' then 1 else 0 end) as listings,
       sum(case when kind = 'archive' then 1 else 0 end) as archives from mirror_entries where sha256 is not null`,
    [],
  )
  return { bytes: Number(row?.bytes ?? 0), listings: Number(row?.listings ?? 0), archives: Number(row?.archives ?? 0) }
}

/** Returns the versions of a package whose archives are in the mirror. */
export async function cachedVersions(em: EntityManager, name: string): Promise<Set<string>> {
  const sql = `select version from mirror_entries where kind = 'archive' and name = ? and sha256 is not null`
  const rows = await readRows<{ version: string }>(em, sql, [name])
  return new Set(rows.map(({ version }) => version))
}

/**
 * Removes a package from the mirror. It is fetched again when it is requested. Its files are deleted later, unless other entries refer to them.
 * @throws ApiError NotFound
 */
export async function removeMirrored({ em, viewer, ip }: SignedInContext, name: string): Promise<void> {
  await em.fork().transactional(async (inner) => {
    const removed = await changeRows(inner, "delete from mirror_entries where name = ? and name <> ''", [name])
    if (removed === 0) throw notInMirror(name)
    const summary = `${viewer.displayName} removed ${name} from the mirror`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, ip: ip ?? null })
  })
}

const documents = ['listing', 'advisories', 'score', 'options', 'publisher'] as const satisfies DocumentKind[]

/**
 * Compares the documents of a package that are in the mirror with the upstream server now.
 * @throws ApiError NotFound; ServiceUnavailable if the upstream server does not answer and the document is not in the mirror.
 */
export async function refreshMirrored(context: SignedInContext, name: string): Promise<MirroredPackage> {
  const { em, viewer, ip, now } = context
  const known = await readRows<{ kind: string }>(em, 'select kind from mirror_entries where name = ?', [name])
  if (!isUpstreamName(name) || known.length === 0 || (await isNeverTaken(context, name))) throw notInMirror(name)
  const since = now()
  const kinds = documents.filter((kind) => known.some((row) => row.kind === kind))
  await withoutBudget(context, () =>
    Promise.all(kinds.map((kind) => documentState(context, kind, name, { newerThan: since, caller: viewer.id }))),
  )
  await em.fork().transactional((inner) => {
    const summary = `${viewer.displayName} refreshed ${name} in the mirror`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, ip: ip ?? null })
    return Promise.resolve()
  })
  const [refreshed] = await loadMirrored(em, [name])
  if (!refreshed) throw notInMirror(name)
  return refreshed
}

async function isNeverTaken({ em, config }: SignedInContext, name: string): Promise<boolean> {
  const lower = name.toLowerCase()
  const row = await readRow<{ own: boolean | number }>(em, `select ${isOwnSql} as own`, [lower, lower])
  return Boolean(row?.own) || isExcluded(config, name)
}

const notInMirror = (name: string) => notFound(`There is no package ${name} in the mirror.`)
