import { type Report, reportSchema } from '../report/report.ts'
import { batched } from '../../platform/db/batched.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Context } from '../../platform/access/context.ts'
import { renderText } from '../../registry/markdown/service.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { pubspecOf } from '../../registry/packages/versions/pubspec.ts'
import type { Package, PackageVersion } from '../../registry/packages/entity.ts'
import { type Tag, tagsOf } from '../../registry/search/tags.ts'

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
const loadGeneration = columnOf<number>('generation', 'granted is not null')
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
