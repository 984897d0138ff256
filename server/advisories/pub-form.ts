import { fixedVersions } from './affected.ts'
import type { Osv } from './osv.ts'
import type { PackageAdvisory } from './service.ts'

/**
 * An advisory as package clients read it: with every affected version listed, and about this package only, since others may be private
 * (pub's protocol, "Advisories"). Summary and aliases are always there: clients skip an advisory without.
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

/** Where people read about it: where it says so itself, where its kind always is, else on the package's page. */
export function advisoryUrl({ id, database_specific: specific }: Osv, name: string, serverUrl: string): string {
  if (specific?.pub_display_url) return specific.pub_display_url
  if (id.startsWith('GHSA-')) return `https://github.com/advisories/${id}`
  return `${serverUrl}/packages/${name}/advisories#${encodeURIComponent(id)}`
}

/** The versions that mend it. */
export const fixedOf = ({ entries }: PackageAdvisory): string[] => fixedVersions(entries)

export const severities = ['low', 'moderate', 'high', 'critical'] as const
export type Severity = (typeof severities)[number]

/** How grave it is, where its author says so in a word. */
export function severityOf({ database_specific: specific }: Osv): Severity | null {
  const word = specific?.severity?.toLowerCase()
  return severities.find((severity) => severity === (word === 'medium' ? 'moderate' : word)) ?? null
}
