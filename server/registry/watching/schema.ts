import { builder } from '../../platform/graphql/builder.ts'
import { anyText, pageByKey } from '../../platform/graphql/connections.ts'
import { connectionOf, payload } from '../../platform/graphql/payload.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { ofPublicPackage, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { PackageWatch } from './entity.ts'
import { countWatchedVersions, listWatchedVersions, listWatches, loadWatching, setWatching } from './service.ts'

const WatchRef = builder.objectRef<PackageWatch>('PackageWatch').implement({
  description: 'A package that you watch.',
  fields: (t) => ({
    package: t.expose('package', { type: PackageRef, description: 'The package.' }),
    watchedSince: t.expose('createdAt', { type: 'DateTime', description: 'When you started to watch the package.' }),
  }),
})

builder.objectField(PackageRef, 'viewerIsWatching', (t) =>
  t.boolean({
    ...ofPublicPackage,
    description: 'Whether you watch the package.',
    resolve: async (pkg, _args, context) =>
      context.viewer !== null && ((await loadWatching(context, `${pkg.id} ${context.viewer.id}`)) ?? false),
  }),
)

builder.queryField('watchedPackages', (t) =>
  t.withAuth({ scope: 'read' }).connection(
    {
      type: WatchRef,
      description: 'Packages that you watch, by name.',
      resolve: (_root, args, { em, viewer }) =>
        pageByKey(args, {
          keyOf: (watch: PackageWatch) => watch.package.name,
          isKey: anyText,
          load: (limit, after) => listWatches(em, viewer.id, limit, after),
          count: () => em.count(PackageWatch, { user: viewer.id }),
        }),
    },
    connectionOf(WatchRef),
  ),
)

builder.queryField('watchedVersions', (t) =>
  t.withAuth({ scope: 'read' }).connection(
    {
      type: PackageVersionRef,
      description:
        'Versions of the packages that you watch, newest first, without retracted ones. Also available as a feed: `/me/feed.atom`.',
      resolve: (_root, args, { em, viewer }) =>
        pageByKey(args, {
          keyOf: ({ id }: PackageVersion) => id,
          load: (limit, before) => listWatchedVersions(em, viewer.id, limit, before),
          count: () => countWatchedVersions(em, viewer.id),
        }),
    },
    connectionOf(PackageVersionRef),
  ),
)

const WatchPackageInput = builder.inputType('WatchPackageInput', {
  description: 'The package to watch or to stop watching.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Name of the package.', extensions: { maxLength: 64 } }),
  }),
})

const WatchPackagePayload = payload('WatchPackagePayload', 'The package after the change.', {
  package: { type: PackageRef, description: 'The package.' },
})

for (const [name, watching, description] of [
  ['watchPackage', true, 'Starts to watch a package. Repeating it changes nothing.'],
  ['unwatchPackage', false, 'Stops watching a package. Repeating it changes nothing.'],
] as const) {
  builder.mutationField(name, (t) =>
    t.withAuth({ scope: 'read' }).field({
      type: WatchPackagePayload,
      description,
      args: { input: t.arg({ type: WatchPackageInput, required: true, description: 'The package.' }) },
      resolve: async (_root, { input }, context) => ({ package: await setWatching(context, input.package, watching) }),
    }),
  )
}
