import { type Report, reportSchema } from '../report/report.ts'
import { batched } from '../../platform/db/batched.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Context } from '../../platform/access/context.ts'
import { renderText } from '../../registry/markdown/service.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { pubspecOf } from '../../registry/packages/versions/pubspec.ts'
import type { Package, PackageVersion } from '../../registry/packages/entity.ts'
import { type Tag, tagsOf } from '../../registry/search/tags.ts'
import { audienceOf } from '../../platform/access/audience.ts'
import { type Here, hostedHere, isHostedHere } from '../../registry/packages/hosting.ts'
import { isPublicPackage } from '../../registry/packages/policy.ts'

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

const columnOf = <Value>(column: string, condition: string) =>
  batched(async (em, ids) => {
    const marks = ids.map(() => '?').join(', ')
    const sql = `select version_id, ${column} as value from score_reports where version_id in (${marks}) and ${condition}`
    return new Map((await readRows<{ version_id: string; value: Value }>(em, sql, ids)).map((row) => [row.version_id, row.value]))
  })
/** Loads the number of the last successful analysis, which every later one increases. */
export const loadGeneration = columnOf<number>('generation', 'granted is not null')
const loadText = columnOf<string>('report', 'report is not null')
const loadTags = columnOf<string>('tags', "tags <> ''")
/** Returns the engine's output of the last successful analysis, or null. */
export const logOf = columnOf<string>('log', 'log is not null')

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
  const sql = `select p.name from packages p where p.name in (${names.map(() => '?').join(', ')}) and ${isPublicPackage('p')}`
  return new Map((await readRows<{ name: string }>(em, sql, names)).map(({ name }) => [name, true]))
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
  const marks = ids.map(() => '?').join(', ')
  // Dependencies without a registry URL match, because this server may be the client's default registry.
  const isHere = `d.sdk is null and (d.hosted_url is null or ${isHostedHere('d.hosted_url')})`
  const rows = await readRows<{ version_id: string; name: string }>(
    em,
    `with recursive needed(version_id, name) as (
       select d.version_id, d.name from package_dependencies d where d.version_id in (${marks}) and ${isHere}
       union
       select n.version_id, d.name from needed n
         join packages p on p.name = n.name
         join package_versions v on v.package_id = p.id
         join package_dependencies d on d.version_id = v.id and d.kind = 'direct' and ${isHere}
     ), nameable(version_id, name) as (
       select version_id, name from needed
       union select n.version_id, p.replaced_by from needed n join packages p on p.name = n.name
       union select v.id, p.replaced_by from package_versions v join packages p on p.id = v.package_id where v.id in (${marks})
     )
     select n.version_id, q.name from nameable n join packages q on q.name = n.name`,
    [...ids, hosted, hosted, ...ids],
  )
  return new Map(
    Map.groupBy(rows, (row) => row.version_id)
      .entries()
      .map(([id, group]) => [id, group.map(({ name }) => name)]),
  )
}
