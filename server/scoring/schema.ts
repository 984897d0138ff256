import { builder } from '../graphql/builder.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { loadPackage } from '../packages/service.ts'
import { versionTags } from './score.ts'

const ScoreStatus = builder.enumType('ScoreStatus', {
  description: 'Whether a version was analyzed.',
  values: { NOT_ANALYZED: { value: 'not_analyzed', description: 'It was not.' } },
})

const ScoreRef = builder.objectRef<object>('Score').implement({
  description: 'What an analysis found a version to be worth.',
  fields: (t) => ({
    status: t.field({ type: ScoreStatus, description: 'Whether it was analyzed.', resolve: () => 'not_analyzed' as const }),
    grantedPoints: t.int({ nullable: true, description: 'The points that it got; null until it is analyzed.', resolve: () => null }),
    maxPoints: t.int({ nullable: true, description: 'The points that it could have got; null until it is analyzed.', resolve: () => null }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  tags: t.stringList({
    ...ofPublicVersion,
    description:
      'What it is, as `sdk:`, `platform:`, `license:`, `topic:`, `publisher:` and `is:` with a value; any of them is a filter in searches.',
    resolve: async (version, _args, context) => {
      const pkg = await loadPackage(context, version.package.id)
      return pkg ? versionTags(pkg, version) : []
    },
  }),
  licenseId: t.string({
    ...ofPublicVersion,
    nullable: true,
    description: 'SPDX identifier of its license, `unknown` for a text that is not recognized; null when nobody has looked yet.',
    resolve: ({ license }: PackageVersion) => license ?? null,
  }),
  score: t.field({ ...ofPublicVersion, type: ScoreRef, description: 'What an analysis found it to be worth.', resolve: () => ({}) }),
}))
