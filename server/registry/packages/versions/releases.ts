import type { EntityManager } from '@mikro-orm/sql'
import { sql } from 'kysely'
import type { Context } from '../../../platform/access/context.ts'
import { batched } from '../../../platform/db/batched.ts'
import { type Columns, columnsOf, db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { basePath } from '../../../platform/http/public-url.ts'
import { compareParsed, known, parseVersion } from '../../../platform/pub/version.ts'
import type { Condition } from '../conditions.ts'
import type { Package, PackageVersion } from '../entity.ts'
import { loadWithheld } from '../visibility.ts'
import { pubspecOf } from './pubspec.ts'
import { versionNumbers } from './service.ts'

/** When a version was published here, and whether it is retracted. */
type Release = { id: string; publishedAt: Date; isRetracted: boolean }

/**
 * Adds to each version heading of a rendered changelog when the version was published here, with a link to it, or that it was not. Headings of the
 * highest level that names versions count. A changelog without such headings stays unchanged. Versions that are hidden from the caller get no note,
 * and neither do unknown ones while any is hidden, because they must look alike.
 */
export async function addReleases(context: Context, version: PackageVersion, html: string): Promise<string> {
  const headings = Array.from(html.matchAll(headingPattern), ([, level = '', content = '']) => ({
    level,
    version: versionIn(textOf(content)),
  }))
  const levels = headings.flatMap((heading) => (heading.version === null ? [] : [heading.level])).sort()
  const releases = levels.length > 0 ? await loadReleases(context, version.package.id) : null
  if (!releases) return html
  const { versions: withheld } = await loadWithheld(context, version.package.id)
  const page = `${basePath(context.config.SERVER_URL)}/packages/${pubspecOf(version).name}`
  return html.replaceAll(headingPattern, (heading, level: string, content: string) => {
    const named = level === levels[0] ? versionIn(textOf(content)) : null
    const release = named === null ? undefined : releases.get(named)
    if (named === null || (release ? withheld.has(release.id) : withheld.size > 0)) return heading
    return `${heading}${releaseNote(release, `${page}/versions/${encodeURIComponent(named)}`)}`
  })
}

const headingPattern = /<h([1-6])(?: [^>]*)?>([^]*?)<\/h\1>(?=<a class="heading-link")/g

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '').trim()

/** Returns the canonical version that a heading of a changelog names, such as `## [1.2.0] - 2026-01-31`. */
export function versionIn(heading: string): string | null {
  const found = /(?:^|[\s[(`*v])(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)/.exec(heading.slice(0, maxHeading))?.[1]
  return (found !== undefined && parseVersion(found.replace(/[.+-]+$/, ''))?.text) || null
}

/** Longer headings are cut off. */
const maxHeading = 200

function releaseNote(release: Release | undefined, path: string): string {
  if (!release) return '<p class="release">Not published here</p>'
  const [iso = ''] = release.publishedAt.toISOString().split('T')
  const link = `<a href="${path}">Published <time datetime="${iso}">${day.format(release.publishedAt)}</time></a>`
  return `<p class="release">${link}${release.isRetracted ? ' · Retracted' : ''}</p>`
}

const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })

const loadReleases = batched(async (em: EntityManager, packageIds) => {
  const columns = ['id', 'package_id', 'version', 'created_at', 'retracted_at'] as const
  const rows = await readRows(em, db.selectFrom('package_versions').select(columns).where('package_id', 'in', packageIds))
  const releases = new Map<string, Map<string, Release>>(packageIds.map((id) => [id, new Map()]))
  for (const row of rows)
    releases.get(row.package_id)?.set(row.version, { id: row.id, publishedAt: row.created_at, isRetracted: row.retracted_at !== null })
  return releases
})

/** All versions with the same first number. `constraint` allows exactly these versions, including pre-releases. */
export type VersionGroup = { name: string; constraint: string; count: number; highest: string }

/** Returns the readable versions of a package by major version, highest first. */
export async function versionGroups(reader: Pick<Context, 'em' | 'viewer' | 'config'>, pkg: Package): Promise<VersionGroup[]> {
  const { readable } = await versionNumbers(reader, pkg)
  const parsed = readable.map((text) => ({ text, version: known(text) })).toSorted((a, b) => compareParsed(b.version, a.version))
  return Array.from(
    Map.groupBy(parsed, ({ version }) => version.release[0] ?? 0n),
    ([major, group]) => ({
      name: `${major}.x`,
      constraint: `>=${major}.0.0-0 <${major + 1n}.0.0-0`,
      count: group.length,
      highest: group[0]?.text ?? '',
    }),
  )
}

/** A condition that selects packages. */
export type OfPackages = (column: Columns<'packages'>) => Condition

/**
 * Returns a query of the newest versions `v` of packages `p`, newest first, without retracted ones. `before` is the id after which the page starts. A
 * page needs no other packages than those with the newest versions, and none of their versions older than all of these.
 */
export function newestVersions(isOf: OfPackages, limit: number, before?: string) {
  const candidates = db
    .selectFrom('package_versions as v')
    .where('v.retracted_at', 'is', null)
    .$if(before !== undefined, (versions) => versions.where('v.id', '<', before ?? ''))
    .orderBy('v.id', 'desc')
  const found = db
    .selectFrom('packages as p')
    .select((eb) => [
      'p.id as package_id',
      'p.name',
      candidates.select('v.id').where('v.package_id', '=', eb.ref('p.id')).limit(sql.lit(1)).as('id'),
    ])
    .where(isOf(columnsOf('packages', 'p')))
  const last = sql.lit(limit)
  return db
    .with('newest', (query) =>
      query.selectFrom(found.as('found')).selectAll().where('id', 'is not', null).orderBy('id', 'desc').limit(last),
    )
    .selectFrom('newest as p')
    .innerJoin('package_versions as v', 'v.package_id', 'p.package_id')
    .where('v.retracted_at', 'is', null)
    .$if(before !== undefined, (versions) => versions.where('v.id', '<', before ?? ''))
    .where((eb) => {
      const oldest = eb
        .selectFrom('newest')
        .select('newest.id')
        .orderBy('newest.id', 'desc')
        .limit(sql.lit(1))
        .offset(sql.lit(limit - 1))
      return eb('v.id', '>=', eb.fn.coalesce(oldest, sql.lit(nilId)))
    })
    .orderBy('v.id', 'desc')
    .limit(last)
}

const nilId = '00000000-0000-0000-0000-000000000000'
