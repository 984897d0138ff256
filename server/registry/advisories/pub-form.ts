import { fixedVersions } from './affected.ts'
import type { Osv } from './osv.ts'
import type { PackageAdvisory } from './service.ts'

/**
 * Returns an advisory in the form that package clients read (pub's protocol, "Advisories"). Lists every affected version of this package and omits
 * other packages, which may be private. Always includes `summary` and `aliases`, because clients ignore advisories without them.
 */
export function pubForm({ osv, row, pkg, entries }: PackageAdvisory, versions: string[], serverUrl: string): Osv {
  const [first] = entries
  const ranges = entries.flatMap((entry) => entry.ranges ?? [])
  const affected = [{ ...first, package: { ecosystem: 'Pub', name: pkg.name }, ...(ranges.length > 0 && { ranges }), versions }]
  const url = advisoryUrl(osv, pkg.name, serverUrl)
  return {
    ...osv,
    summary: row.summary,
    aliases: osv.aliases ?? [],
    affected,
    database_specific: { ...osv.database_specific, pub_display_url: url },
  }
}

/**
 * Returns the URL for reading about an advisory: the URL stated in the advisory, the GitHub page for GHSA identifiers, or else the package's page.
 */
export function advisoryUrl({ id, database_specific: specific }: Osv, name: string, serverUrl: string): string {
  if (specific?.pub_display_url) return specific.pub_display_url
  if (id.startsWith('GHSA-')) return `https://github.com/advisories/${id}`
  return `${serverUrl}/packages/${name}/advisories#${encodeURIComponent(id)}`
}

/** Returns the versions that fix the advisory. */
export const fixedOf = ({ entries }: PackageAdvisory): string[] => fixedVersions(entries)

export const severities = ['low', 'moderate', 'high', 'critical'] as const
export type Severity = (typeof severities)[number]

/** Returns the severity stated by the advisory, or null. */
export function severityOf({ database_specific: specific }: Osv): Severity | null {
  const word = specific?.severity?.toLowerCase()
  return severities.find((severity) => severity === (word === 'medium' ? 'moderate' : word)) ?? null
}
