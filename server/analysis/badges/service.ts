import { loadDownloads30d } from '../../registry/downloads/service.ts'
import { latestOf } from '../../registry/packages/versions/latest.ts'
import { findPackage } from '../../registry/packages/service.ts'
import type { Context } from '../../platform/access/context.ts'
import { xmlText } from '../../platform/console/site-files.ts'
import type { Services } from '../../services.ts'
import type { Audience } from '../../platform/access/audience.ts'
import { passedChecksOf, totalChecks } from '../report/report.ts'
import { scoreOf } from '../scoring/status.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
import { isVersionPublic } from '../../registry/packages/conditions.ts'
import { db, prepared } from '../../platform/db/query.ts'

type Reader = Pick<Services, 'database' | 'config'>

/** Returns a badge with the latest version, labeled with the package's name; null if the package does not exist for this audience. */
export async function versionBadge(reader: Reader, audience: Audience, name: string): Promise<Badge | null> {
  const found = await find(reader, audience, name)
  if (!found) return null
  if (found.is_discontinued) return { label: name, value: 'discontinued', color: 'red' }
  return found.retracted_at ? { label: name, value: 'retracted', color: 'red' } : { label: name, value: `v${found.version}`, color: 'blue' }
}

/** Returns a badge with the passed checks of the latest version, or the state of its analysis; null if the package does not exist for this audience. */
export async function scoreBadge(reader: Reader, audience: Audience, name: string): Promise<Badge | null> {
  const found = await find(reader, audience, name)
  if (!found) return null
  const { status, percent } = await scoreOf({ config: reader.config, database: reader.database, em: reader.database.fork() }, found.id)
  if (percent === null) return { label: 'score', value: status.replace('_', ' '), color: status === 'failed' ? 'red' : 'gray' }
  return {
    label: 'score',
    value: `${passedChecksOf(percent)}/${totalChecks} checks`,
    color: percent >= 80 ? 'green' : percent >= 50 ? 'orange' : 'red',
  }
}

/** Returns a badge with the downloads of the last 30 days; null if the package does not exist, and for the public audience. */
export async function downloadsBadge(context: Context, audience: Audience, name: string): Promise<Badge | null> {
  const pkg = audience === 'members' ? await findPackage(context, name) : null
  if (!pkg) return null
  const count = (await loadDownloads30d(context, pkg.id)) ?? 0
  return { label: 'downloads', value: `${compact.format(count)}/month`, color: 'green' }
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

const selectVersions = (name: string) =>
  db
    .selectFrom('packages as p')
    .innerJoin('package_versions as v', 'v.package_id', 'p.id')
    .select(['v.id', 'v.version', 'v.retracted_at', 'p.is_discontinued'])
    .where('p.name', '=', name)
const latestVersionOf = prepared((name: string) => selectVersions(name).whereRef('v.version', '=', 'p.latest_version'))
const publicVersionsOf = prepared((name: string, here: string) =>
  selectVersions(name).where((eb) => isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), here)),
)

async function find({ database: { reads }, config }: Reader, audience: Audience, name: string) {
  if (audience === 'members') return reads.recall(latestVersionOf, name)
  const rows = await reads.all(publicVersionsOf, name, hostedHere(config))
  return latestOf(rows.map((row) => ({ row, version: row.version, retracted: row.retracted_at !== null })))?.row
}

export type Badge = { label: string; value: string; color: keyof typeof colors }

// Dark enough for white text (WCAG 2.2, 1.4.3). Badges have their own background, so they work on light and dark pages.
const colors = { blue: '#0b5cad', green: '#2c7a34', orange: '#a35200', gray: '#6a6a6a', red: '#b3261e' }

/** Renders a badge in the common style: a label and a value, 20 pixels high. */
export function renderBadge({ label, value, color }: Badge): string {
  const [left, right] = [widthOf(label), widthOf(value)]
  const [said, width] = [xmlText(`${label}: ${value}`), left + right]
  const words = [textElement(label, left / 2, left), textElement(value, left + right / 2, right)].join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${said}"><title>${said}</title><clipPath id="r"><rect width="${width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${colors[color]}"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${words}</g></svg>\n`
}

const padding = 12

/** Renders a text stretched to the given width, so that the layout does not depend on the viewer's fonts. */
const textElement = (word: string, middle: number, width: number): string =>
  `<text x="${middle}" y="14" textLength="${width - padding}" lengthAdjust="spacingAndGlyphs">${xmlText(word)}</text>`

const widths: [RegExp, number][] = [
  [/[ijlI.,:;'|!]/, 3.6],
  [/[frt()[\]\-" ]/, 4.6],
  [/[mwMW%@]/, 10.2],
  [/[A-Z]/, 7.8],
]

/** Estimates the width of a text in Verdana, in pixels, including padding. */
const widthOf = (word: string): number =>
  Math.round(Array.from(word).reduce((sum, letter) => sum + (widths.find(([letters]) => letters.test(letter))?.[1] ?? 6.9), 0)) + padding
