import { builder } from '../../platform/graphql/builder.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { fixedVersions, type Osv } from './osv.ts'
import { AdvisoryRef } from './schema.ts'
import { advisoriesOfPackage, advisoriesOfVersion, affectedOf, type PackageAdvisory } from './service.ts'

const PackageAdvisoryRef = builder.objectRef<PackageAdvisory>('PackageAdvisory').implement({
  description: 'A security advisory as it applies to one package.',
  fields: (t) => ({
    advisory: t.field({ type: AdvisoryRef, description: 'The advisory.', resolve: (advisory) => advisory }),
    affectedVersions: t.field({
      extensions: { size: 20 },
      type: ['SemVer'],
      description: 'All affected versions, in order, including versions listed by the advisory that this server does not have.',
      resolve: (advisory, _args, context) => affectedOf(context, advisory),
    }),
    fixedVersions: t.field({
      extensions: { size: 20 },
      type: ['SemVer'],
      description: 'Versions that fix the advisory, in order. This server may not have them yet.',
      resolve: ({ entries }) => fixedVersions(entries),
    }),
    url: t.field({
      type: 'URL',
      description: 'URL of a page about the advisory.',
      resolve: ({ osv, pkg }, _args, { request, config }) => advisoryUrl(osv, pkg.name, publicUrl(request, config.SERVER_URL)),
    }),
    osv: t.string({
      description: 'The advisory in OSV format as JSON text, limited to this package, with every affected version listed.',
      resolve: async (advisory, _args, context) =>
        JSON.stringify(pubForm(advisory, await affectedOf(context, advisory), context.config.SERVER_URL)),
    }),
  }),
})

builder.objectFields(PackageRef, (t) => ({
  advisoriesUpdated: t.expose('advisoriesUpdated', {
    ...ofPublicPackage,
    type: 'DateTime',
    nullable: true,
    description: 'When the security advisories of the package, or the set of affected versions, last changed; null if it never had any.',
  }),
  advisories: t.field({
    ...ofPublicPackage,
    extensions: { size: 10 },
    type: [PackageAdvisoryRef],
    description: 'Security advisories that are not withdrawn, most recently changed first.',
    resolve: (pkg, _args, context) => advisoriesOfPackage(context, pkg.id),
  }),
}))

builder.objectField(PackageVersionRef, 'advisories', (t) =>
  t.field({
    ...ofPublicVersion,
    extensions: { size: 2 },
    type: [PackageAdvisoryRef],
    description: 'Security advisories that affect the version.',
    resolve: (version, _args, context) => advisoriesOfVersion(context, version.package.id, version.version),
  }),
)

builder.objectField(PackageVersionRef, 'isAffectedByAdvisory', (t) =>
  t.boolean({
    ...ofPublicVersion,
    description: 'Whether a security advisory that is not withdrawn affects the version.',
    resolve: async (version, _args, context) => (await advisoriesOfVersion(context, version.package.id, version.version)).length > 0,
  }),
)

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
