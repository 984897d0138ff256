import { audit } from '../../../accounts/audit/service.ts'
import { notFound } from '../../../errors.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import type { Condition } from '../../packages/conditions.ts'
import { db, type Tables } from '../../../platform/db/query.ts'
import { changeRows, containing, readRow, readRows } from '../../../platform/db/statements.ts'
import { type PageArguments, pageByKey } from '../../../platform/graphql/connections.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { type Expression, expressionBuilder, type NotNull, sql, type SqlBool } from 'kysely'
import { isOwnName } from '../access.ts'
import { documentState, type DocumentKind } from '../documents.ts'
import { mirrorFiles, type MirrorServices } from '../entries.ts'

/** What the mirror keeps of an upstream package. */
export type MirroredPackage = {
  name: string
  archives: number
  bytes: number
  usedAt: Date
  checkedAt: Date | null
  failure: { at: Date; reason: string } | null
}

const eb = expressionBuilder<Tables>()

/** Condition of the rows that count: a file is stored, or could not be fetched. */
const isKept = (sha256: Expression<string | null>, failure: Expression<string | null>): Condition =>
  eb.or([eb(sha256, 'is not', null), eb(failure, 'is not', null)])

/** The rows of packages that count. `q` filters by part of the name. */
function keptRows(q: string | null | undefined) {
  const rows = db
    .selectFrom('mirror_entries as e')
    .where('e.name', '<>', '')
    .where((row) => isKept(row.ref('e.sha256'), row.ref('e.failure')))
  return q ? rows.where((row) => sql<SqlBool>`${row.ref('e.name')} like ${containing(q)} escape '!'`) : rows
}

/** The row of each package that was used last, in the order of a page. `after`: the last package of the page before. */
function lastUsed(q: string | null | undefined, after: { at: Date; name: string } | null) {
  const rows = keptRows(q)
    .select('e.name')
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('mirror_entries as o')
            .select(row.lit(1).as('one'))
            .whereRef('o.name', '=', 'e.name')
            .where((other) => isKept(other.ref('o.sha256'), other.ref('o.failure')))
            .where((other) =>
              other.or([
                other('o.used_at', '>', other.ref('e.used_at')),
                other.and([other('o.used_at', '=', other.ref('e.used_at')), other('o.key', '<', other.ref('e.key'))]),
              ]),
            ),
        ),
      ),
    )
    .orderBy('e.used_at', 'desc')
    .orderBy('e.name')
  if (!after) return rows
  const { at, name } = after
  return rows.where('e.used_at', '<=', at).where((row) => row.or([row('e.used_at', '<', at), row('e.name', '>', name)]))
}

/** Returns the packages in the mirror as a connection, most recently used first. `q` filters by part of the name. */
export function listMirrored(
  em: EntityManager,
  q: string | null | undefined,
  page: PageArguments & { offset?: number | null | undefined },
) {
  return pageByKey(page, {
    keyOf: ({ usedAt, name }: MirroredPackage) => `${usedAt.getTime()} ${name}`,
    isKey: (key) => /^\d{1,15} \S{1,64}$/.test(key),
    load: async (limit, after) => {
      const [moment = '', name = ''] = after?.split(' ') ?? []
      const last = after === undefined ? null : { at: new Date(Number(moment)), name }
      const rows = await readRows(
        em,
        lastUsed(q, last)
          .limit(limit)
          .offset(page.offset ?? 0),
      )
      return loadMirrored(
        em,
        rows.map((row) => row.name),
      )
    },
    count: async () => {
      const found = keptRows(q).select('e.name').groupBy('e.name').as('found')
      const row = await readRow(
        em,
        db.selectFrom(found).select(({ fn }) => fn.countAll<number>().as('total')),
      )
      return row?.total ?? 0
    },
  })
}

/** Loads packages of the mirror, most recently used first. */
async function loadMirrored(em: EntityManager, names: string[]): Promise<MirroredPackage[]> {
  if (names.length === 0) return []
  const rows = await readRows(
    em,
    db
      .selectFrom('mirror_entries')
      .select(({ fn }) => [
        'name',
        fn.countAll<number>().filterWhere('kind', '=', 'archive').filterWhere('sha256', 'is not', null).as('archives'),
        fn.sum<number>('bytes').as('bytes'),
        fn.max('used_at').as('usedAt'),
        fn.max('checked_at').filterWhere('kind', '=', 'listing').as('checkedAt'),
        fn.max('failed_at').as('failedAt'),
      ])
      .where('name', 'in', names)
      .where((row) => isKept(row.ref('sha256'), row.ref('failure')))
      .groupBy('name')
      .orderBy('usedAt', 'desc')
      .orderBy('name'),
  )
  const failures = await loadFailures(
    em,
    rows.flatMap(({ name, failedAt }) => (failedAt === null ? [] : [name])),
  )
  return rows.map(({ name, archives, bytes, usedAt, checkedAt }) => {
    const failure = failures.get(name) ?? null
    return { name, archives, bytes, usedAt, checkedAt, failure }
  })
}

/** Returns the last failure of each package that has one. */
async function loadFailures(em: EntityManager, names: string[]): Promise<Map<string, { at: Date; reason: string }>> {
  if (names.length === 0) return new Map()
  const rows = await readRows(
    em,
    db
      .selectFrom('mirror_entries')
      .select(['name', 'failed_at as at', 'failure as reason'])
      .where('failure', 'is not', null)
      .where('failed_at', 'is not', null)
      .$narrowType<{ at: NotNull; reason: NotNull }>()
      .where('name', 'in', names)
      .orderBy('failed_at'),
  )
  return new Map(rows.map(({ name, at, reason }) => [name, { at, reason }]))
}

/** Size of the mirror: bytes of all files, number of listings and archives. */
export type MirrorSize = { bytes: number; listings: number; archives: number }

export async function mirrorSize(em: EntityManager): Promise<MirrorSize> {
  const row = await readRow(
    em,
    db
      .selectFrom('mirror_entries')
      .select(({ fn }) => [
        fn.sum<number | null>('bytes').as('bytes'),
        fn.countAll<number>().filterWhere('kind', '=', 'listing').as('listings'),
        fn.countAll<number>().filterWhere('kind', '=', 'archive').as('archives'),
      ])
      .where('sha256', 'is not', null),
  )
  return { bytes: row?.bytes ?? 0, listings: row?.listings ?? 0, archives: row?.archives ?? 0 }
}

/** Returns the versions of a package whose archives are in the mirror. */
export async function cachedVersions(em: EntityManager, name: string): Promise<Set<string>> {
  const stored = db.selectFrom('mirror_entries').select('version').where('kind', '=', 'archive').where('sha256', 'is not', null)
  const rows = await readRows(em, stored.where('name', '=', name))
  return new Set(rows.map(({ version }) => version))
}

/**
 * Removes a package from the mirror. It is fetched again when it is requested. Its files are deleted later, unless other entries refer to them.
 * @throws ApiError NotFound
 */
export async function removeMirrored({ em, viewer, ip }: SignedInContext, name: string): Promise<void> {
  await em.fork().transactional(async (inner) => {
    const removed = await changeRows(inner, db.deleteFrom('mirror_entries').where('name', '=', name).where('name', '<>', ''))
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
  const known = await readRows(em, db.selectFrom('mirror_entries').select('kind').where('name', '=', name))
  if (!isUpstreamName(name) || known.length === 0 || (await isOwnName(context, name))) throw notInMirror(name)
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

const notInMirror = (name: string) => notFound(`There is no package ${name} in the mirror.`)

const dayMs = 24 * 3_600_000

/**
 * Deletes the files of the mirror that were not used for the longest time if it is larger than UPSTREAM_CACHE_BYTES, and rows without a file after a day.
 * Returns the number of deleted files.
 */
export function collectMirror(services: MirrorServices): Promise<number> {
  const now = services.now()
  const unused = db
    .deleteFrom('mirror_entries')
    .where('sha256', 'is', null)
    .where('used_at', '<', new Date(now.getTime() - dayMs))
  const fileless = unused.where((row) => row.or([row('leased_until', 'is', null), row('leased_until', '<', now)]))
  return mirrorFiles.collect(services, services.config.UPSTREAM_CACHE_BYTES, fileless)
}
