import { publicUrl } from '../http/public-url.ts'
import { builder } from '../graphql/builder.ts'
import { ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { advisoryUrl, fixedOf, pubForm } from './pub-form.ts'
import { AdvisoryRef } from './refs.ts'
import { advisoriesOfPackage, advisoriesOfVersion, affectedOf, type PackageAdvisory } from './service.ts'

const PackageAdvisoryRef = builder.objectRef<PackageAdvisory>('PackageAdvisory').implement({
  description: 'A security advisory as one of its packages sees it.',
  fields: (t) => ({
    advisory: t.field({ type: AdvisoryRef, description: 'The advisory.', resolve: (advisory) => advisory }),
    affectedVersions: t.field({
      extensions: { size: 20 },
      type: ['SemVer'],
      description: 'Every version that is affected, in order; also versions that were never here, where the advisory lists them.',
      resolve: (advisory, _args, context) => affectedOf(context, advisory),
    }),
    fixedVersions: t.field({
      extensions: { size: 20 },
      type: ['SemVer'],
      description: 'The versions that fix it, in order; they may not have been published here yet.',
      resolve: fixedOf,
    }),
    url: t.field({
      type: 'URL',
      description: 'Where people read about it.',
      resolve: ({ osv, pkg }, _args, { request, config }) => advisoryUrl(osv, pkg.name, publicUrl(request, config.SERVER_URL)),
    }),
    osv: t.string({
      description: 'The advisory in OSV form, as JSON text: about this package, with every affected version listed.',
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
    description: 'When its security advisories last changed, or might affect other versions; null while there were never any.',
    resolve: ({ advisoriesUpdated }) => advisoriesUpdated ?? null,
  }),
  advisories: t.field({
    ...ofPublicPackage,
    extensions: { size: 10 },
    type: [PackageAdvisoryRef],
    description: 'Its security advisories that are not withdrawn, the last changed first.',
    resolve: (pkg, _args, context) => advisoriesOfPackage(context, pkg),
  }),
}))

builder.objectField(PackageVersionRef, 'advisories', (t) =>
  t.field({
    ...ofPublicVersion,
    extensions: { size: 2 },
    type: [PackageAdvisoryRef],
    description: 'The security advisories that affect it.',
    resolve: (version, _args, context) => advisoriesOfVersion(context, version.package.id, version.version),
  }),
)
