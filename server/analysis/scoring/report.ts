import { type Report, reportSchema } from '../report/report.ts'
import { type Expression, type ExpressionBuilder, sql } from 'kysely'
import { db, type Tables } from '../../platform/db/query.ts'
import { batched } from '../../platform/db/batched.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Context } from '../../platform/access/context.ts'
import { renderText } from '../../registry/markdown/service.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { pubspecOf } from '../../registry/packages/versions/pubspec.ts'
import type { Package, PackageVersion } from '../../registry/packages/entity.ts'
import { type Tag, tagsOf } from '../../registry/search/tags.ts'
import { audienceOf } from '../../platform/access/audience.ts'
import { type Here, hostedHere } from '../../registry/packages/hosting.ts'
import { isDependencyHere, isPublic } from '../../registry/packages/conditions.ts'

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Reports, keyed by version and generation. */
    reports: Report
  }
}

/** Returns the last report of a version, or null. Reports are cached until the next one. */
export async function reportOf(context: Pick<Context, 'caches' | 'em'>, versionId: string): Promise<Report | null> {
  const generation = await loadGeneration(context, versionId)
  if (generation === null) return null
  const key = `${versionId} ${generation}`
  let report = context.caches.reports.get(key)
  if (!report) {
    const text = await loadText(context, versionId)
    if (text === null) return null
    report = reportSchema.parse(JSON.parse(text))
    context.caches.reports.set(key, report)
  }
  return report
}

type Reports = ExpressionBuilder<Tables, 'score_reports'>

/** Loads a value of the reports by version id. Missing if it is null. */
const columnOf = <Value>(valueIn: (eb: Reports) => Expression<Value | null>) =>
  batched(async (em, ids) => {
    const rows = await readRows(
      em,
      db
        .selectFrom('score_reports')
        .select((eb) => ['version_id', sql<Value | null>`${valueIn(eb)}`.as('value')])
        .where('version_id', 'in', ids)
        .$castTo<{ version_id: string; value: Value | null }>(),
    )
    return new Map(rows.flatMap(({ version_id: id, value }): [string, Value][] => (value === null ? [] : [[id, value]])))
  })
/** Loads the number of the last successful analysis, which every later one increases. */
export const loadGeneration = columnOf((eb) => eb.case().when('granted', 'is not', null).then(eb.ref('generation')).end())
const loadText = columnOf((eb) => eb.ref('report'))
const loadTags = columnOf((eb) => eb.fn<string | null>('nullif', ['tags', eb.val('')]))
/** Returns the engine's output of the last successful analysis, or null. */
export const logOf = columnOf((eb) => eb.ref('log'))

/** Renders Markdown from a report as safe HTML. The text is short and repeats across reports, so the result is cached in memory only. */
export const renderRemark = (context: Context, source: string): Promise<string> =>
  renderText(context, { source, links: { kind: 'whole' } }, { persist: false })

/** Returns the tags of a version, as on pub.dev: platforms, SDKs, license, topics, publisher and flags. Excludes uploaders and dependencies. */
export async function versionTags(reader: { em: EntityManager }, pkg: Package, version: PackageVersion): Promise<Tag[]> {
  return tagsOf({
    pubspec: { ...pubspecOf(version), dependencies: [] },
    publisher: pkg.publisher?.id ?? null,
    uploaderIds: [],
    license: version.license ?? null,
    isPublic: pkg.visibility === 'public',
    isUnlisted: pkg.isUnlisted,
    isDiscontinued: pkg.isDiscontinued,
    hasRetracted: version.retractedAt != null,
    analyzed: (await loadTags(reader, version.id))?.split(' ') ?? [],
  })
}

// A report is created once, from what its readers may know at that time. Later, packages can become private or be deleted, and a report created for
// members stays when its package becomes public, until the next analysis. Reports are therefore checked on every anonymous read.

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>

/** Returns whether a report mentions a package of this server that the caller may not know about. Runs at most two queries per request (batched). */
export async function mentionsHiddenPackages(
  context: Reader,
  versionId: string,
  { tags: _tags, unknownPackages: _unknown, leadsTo, ...said }: Report,
): Promise<boolean> {
  if (audienceOf(context) === 'members') return false
  const text = textsIn(said)
  const names = leadsTo ?? (await loadMentionable(context, `${versionId} ${hostedHere(context.config)}`)) ?? []
  const named = names.filter((name) => new RegExp(`(?<![a-z0-9_])${name}(?![a-z0-9_]|://)`).test(text))
  const shown = await Promise.all(named.map((name) => loadShown(context, name)))
  return shown.some((isShown) => !isShown)
}

function textsIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value).map(textsIn).join(' ')
}

/** Returns whether a package is public. A deleted package looks like a private one. */
const loadShown = batched(async (em: EntityManager, names) => {
  const shown = db
    .selectFrom('packages')
    .select('name')
    .where('name', 'in', names)
    .where((eb) => isPublic(eb.ref('visibility')))
  return new Map((await readRows(em, shown)).map(({ name }) => [name, true]))
})

/** Computes the names for old reports, which do not list the packages they can mention. */
const loadMentionable = batched(async (em: EntityManager, keys) => {
  const hosted = keys[0]?.split(' ')[1] ?? ''
  const found = await readMentionable(
    em,
    hosted,
    keys.map((key) => key.split(' ')[0] ?? ''),
  )
  return new Map([...found].map(([id, names]) => [`${id} ${hosted}`, names]))
})

/** Returns the names of the packages on this server that an analysis of a version can mention: transitive dependencies, and their replacements. */
export const mentionablePackages = async (em: EntityManager, here: Here, versionId: string): Promise<string[]> =>
  (await readMentionable(em, hostedHere(here), [versionId])).get(versionId) ?? []

async function readMentionable(em: EntityManager, hosted: string, ids: string[]): Promise<Map<string, string[]>> {
  const replacementsOf = db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .select(['v.id as version_id', 'p.replaced_by as name'])
    .where('v.id', 'in', ids)
  const rows = await readRows(
    em,
    withNeeded(ids, hosted)
      .with('nameable(version_id, name)', (query) =>
        query
          .selectFrom('needed')
          .select((eb) => ['version_id', eb.ref('name').$castTo<string | null>().as('name')])
          .union(
            query
              .selectFrom('needed as n')
              .innerJoin('packages as p', 'p.name', 'n.name')
              .select(['n.version_id', 'p.replaced_by as name']),
          )
          .union(replacementsOf),
      )
      .selectFrom('nameable as n')
      .innerJoin('packages as q', 'q.name', 'n.name')
      .select(['n.version_id', 'q.name']),
  )
  return new Map(
    Map.groupBy(rows, (row) => row.version_id)
      .entries()
      .map(([id, group]) => [id, group.map(({ name }) => name)]),
  )
}

/** Begins a query of `needed`: the dependencies of versions, direct or not. */
const withNeeded = (versionIds: readonly string[], here: string) =>
  db.withRecursive('needed(version_id, name)', (query) =>
    query
      .selectFrom('package_dependencies as d')
      .select(['d.version_id', 'd.name'])
      .where('d.version_id', 'in', versionIds)
      .where((eb) => isDependencyHere({ sdk: eb.ref('d.sdk'), url: eb.ref('d.hosted_url') }, here))
      .union(
        query
          .selectFrom('needed as n')
          .innerJoin('packages as p', 'p.name', 'n.name')
          .innerJoin('package_versions as v', 'v.package_id', 'p.id')
          .innerJoin('package_dependencies as d', 'd.version_id', 'v.id')
          .select(['n.version_id', 'd.name'])
          .where('d.kind', '=', 'direct')
          .where((eb) => isDependencyHere({ sdk: eb.ref('d.sdk'), url: eb.ref('d.hosted_url') }, here)),
      ),
  )
