import { publicUrl } from '../../platform/http/public-url.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { advisoryUrl, fixedOf, pubForm } from './pub-form.ts'
import { AdvisoryRef } from './refs.ts'
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
      resolve: fixedOf,
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
  advisoriesUpdated: t.field({
    ...ofPublicPackage,
    type: 'DateTime',
    nullable: true,
    description: 'When the security advisories of the package, or the set of affected versions, last changed; null if it never had any.',
    resolve: ({ advisoriesUpdated }) => advisoriesUpdated ?? null,
  }),
  advisories: t.field({
    ...ofPublicPackage,
    extensions: { size: 10 },
    type: [PackageAdvisoryRef],
    description: 'Security advisories that are not withdrawn, most recently changed first.',
    resolve: (pkg, _args, context) => advisoriesOfPackage(context, pkg),
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
