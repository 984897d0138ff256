import { builder } from '../../platform/graphql/builder.ts'
import { anyText, pageByKey } from '../../platform/graphql/connections.ts'
import { connectionOf } from '../../platform/graphql/payload.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { addMarkMutations, ofPublicPackage, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { PackageWatch } from './entity.ts'
import { countWatchedVersions, listWatchedVersions, listWatches, setWatching, watches } from './service.ts'

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
    resolve: (pkg, _args, context) => watches.isMarked(context, pkg),
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

addMarkMutations('WatchPackage', 'The package to watch or to stop watching.', setWatching, [
  { name: 'watchPackage', isMarked: true, description: 'Starts to watch a package. Repeating it changes nothing.' },
  { name: 'unwatchPackage', isMarked: false, description: 'Stops watching a package. Repeating it changes nothing.' },
])
