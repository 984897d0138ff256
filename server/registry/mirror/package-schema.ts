import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf } from '../../platform/graphql/payload.ts'
import { anyText, notNegative, pageByKey } from '../../platform/graphql/connections.ts'
import { webUrl } from '../../platform/pub/hosted-url.ts'
import { DependencyKind, packageOfRow } from '../packages/refs.ts'
import { countDependents, type Dependent, listDependents } from '../packages/dependents/service.ts'
import {
  countVersions,
  findUpstreamPackage,
  listVersions,
  upstreamAdvisories,
  type UpstreamPackage,
  upstreamRegistries,
  upstreamTags,
} from './catalog/package.ts'
import { readmeOf } from './catalog/readme.ts'
import { UpstreamAdvisoryRef, UpstreamVersionRef, type Version } from './catalog/refs.ts'

const DependentRef = builder.objectRef<Dependent>('UpstreamDependent').implement({
  description: 'A package of this server whose latest version depends on a package of the upstream server.',
  fields: (t) => ({
    package: t.field(packageOfRow),
    version: t.expose('version', { type: 'SemVer', description: 'The latest version of the dependent.' }),
    constraint: t.exposeString('constraint', { description: 'The version constraint, such as ^1.2.0; `any` for all versions.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Kind of the dependency.' }),
  }),
})

const UpstreamPackageRef = builder.objectRef<UpstreamPackage>('UpstreamPackage')

const offset = { description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }

builder.objectType(UpstreamPackageRef, {
  description: 'A package of the upstream server, as the mirror sends it.',
  fields: (t) => ({
    name: t.string({ description: 'Name of the package.', resolve: ({ listing }) => listing.name }),
    url: t.field({
      type: 'URL',
      description: 'URL of the package on the upstream server.',
      resolve: ({ listing }, _args, { config }) => `${config.UPSTREAM_URL}/packages/${listing.name}`,
    }),
    description: t.string({
      nullable: true,
      description: 'Description of the latest version.',
      resolve: ({ pubspec }) => pubspec.description,
    }),
    homepage: t.field({ type: 'URL', nullable: true, description: 'Homepage.', resolve: ({ pubspec }) => webPage(pubspec.homepage) }),
    repository: t.field({
      type: 'URL',
      nullable: true,
      description: 'Source code repository.',
      resolve: ({ pubspec }) => webPage(pubspec.repository),
    }),
    topics: t.stringList({
      extensions: { size: 5 },
      description: 'Topics of the latest version.',
      resolve: ({ pubspec }) => pubspec.topics.slice(0, 5),
    }),
  }),
})

builder.objectFields(UpstreamPackageRef, (t) => ({
  latest: t.field({
    type: UpstreamVersionRef,
    nullable: true,
    description: 'The latest version that the policies of the mirror allow; null if they allow none.',
    resolve: (pkg) => pkg.latest && { ...pkg.latest, pkg },
  }),
  newest: t.field({
    type: UpstreamVersionRef,
    nullable: true,
    description: 'The latest version on the upstream server. Differs from `latest` if the policies of the mirror do not allow it.',
    resolve: (pkg) => ({ ...pkg.newest, pkg }),
  }),
  isDiscontinued: t.boolean({ description: 'Whether the package is discontinued.', resolve: ({ listing }) => listing.isDiscontinued }),
  replacedBy: t.string({
    nullable: true,
    description: 'Name of the package that replaces it, if it is discontinued.',
    resolve: ({ listing }) => listing.replacedBy,
  }),
  staleSince: t.expose('staleSince', {
    type: 'DateTime',
    nullable: true,
    description:
      'When the package was last compared with the upstream server, if that is due and the upstream server does not answer; otherwise null.',
  }),
}))

const webPage = (text: string | null): string | null => (text === null ? null : (webUrl(text)?.href ?? null))

builder.objectFields(UpstreamPackageRef, (t) => ({
  publisher: t.string({
    nullable: true,
    extensions: { cost: 5 },
    description: 'Domain of the verified publisher; null without one or if it is unknown.',
    resolve: async (pkg, _args, context) => (await upstreamTags(context, pkg)).publisher,
  }),
  licenses: t.stringList({
    extensions: { cost: 5, size: 2 },
    description: 'Licenses of the latest version as SPDX identifiers in lower case. Empty if they are unknown.',
    resolve: async (pkg, _args, context) => (await upstreamTags(context, pkg)).licenses,
  }),
  tags: t.stringList({
    extensions: { cost: 5, size: 20 },
    description: 'Tags of the latest version on the upstream server, such as `sdk:flutter`.',
    resolve: async (pkg, _args, context) => (await upstreamTags(context, pkg)).tags,
  }),
  advisories: t.field({
    type: [UpstreamAdvisoryRef],
    nullable: true,
    extensions: { cost: 5, size: 5 },
    description: 'Security advisories that are not withdrawn, at most 50; null if the upstream server does not send them.',
    resolve: (pkg, _args, context) => upstreamAdvisories(context, pkg),
  }),
  readme: t.string({
    nullable: true,
    extensions: { cost: 100 },
    description:
      'README of the latest version as sanitized HTML. If the policies allow no version, administrators get that of the newest one. Null without one, and if the archive is not in the mirror and larger than 20 MiB.',
    resolve: (pkg, _args, context) => readmeOf(context, pkg),
  }),
}))

builder.objectFields(UpstreamPackageRef, (t) => ({
  versions: t.connection(
    {
      type: UpstreamVersionRef,
      description: 'All versions, highest first, including refused ones.',
      args: { offset: t.arg.int(offset) },
      resolve: (pkg, { offset: skipped, ...args }) =>
        pageByKey(args, {
          keyOf: ({ version }: Version) => version,
          isKey: anyText,
          load: async (limit, after) =>
            (await listVersions(pkg, { limit, after, skipped: skipped ?? 0 })).map((version) => ({ ...version, pkg })),
          count: () => Promise.resolve(countVersions(pkg)),
        }),
    },
    connectionOf(UpstreamVersionRef),
  ),
}))

builder.objectFields(UpstreamPackageRef, (t) => ({
  usedBy: t.connection(
    {
      type: DependentRef,
      authScopes: { scope: 'read' },
      description:
        'Packages of this server whose latest version depends on this one, by name: without a registry URL, or with that of the mirror or of the upstream server.',
      args: { offset: t.arg.int(offset) },
      resolve: ({ listing: { name } }, { offset: skipped, ...args }, { em, config }) =>
        pageByKey(args, {
          keyOf: (dependent: Dependent) => dependent.name,
          isKey: anyText,
          load: (limit, after) => listDependents(em, upstreamRegistries(config), { name, limit, after, offset: skipped }),
          count: () => countDependents(em, upstreamRegistries(config), name),
        }),
    },
    connectionOf(DependentRef),
  ),
}))

builder.queryField('upstreamPackage', (t) =>
  t.field({
    skipTypeScopes: true,
    extensions: { cost: 20 },
    type: UpstreamPackageRef,
    nullable: true,
    description:
      'A package of the upstream server, from the mirror or after fetching its listing. Null without a mirror, for names of this server, for names that are never taken from upstream, and for unknown ones. For callers who may read the mirror.',
    args: { name: t.arg.string({ required: true, description: 'Name of the package.' }) },
    resolve: (_root, { name }, context) => findUpstreamPackage(context, name),
  }),
)
