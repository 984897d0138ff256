import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf } from '../../platform/graphql/payload.ts'
import { anyText, pageByKey } from '../../platform/graphql/connections.ts'
import { addMarkMutations, ofPublicPackage, PackageRef } from '../packages/refs.ts'
import type { PackageLike } from './entity.ts'
import { countLikesOf, likes, listLikes, loadLikeCount, setLike } from './service.ts'

const LikeRef = builder.objectRef<PackageLike>('PackageLike').implement({
  description: 'A package that you like.',
  fields: (t) => ({
    package: t.expose('package', { type: PackageRef, description: 'The package.' }),
    likedAt: t.expose('createdAt', { type: 'DateTime', description: 'When you liked the package.' }),
  }),
})

builder.objectFields(PackageRef, (t) => ({
  likeCount: t.int({
    ...ofPublicPackage,
    description: 'Number of likes.',
    resolve: async (pkg, _args, context) => (await loadLikeCount(context, pkg.id)) ?? 0,
  }),
  viewerHasLiked: t.boolean({
    ...ofPublicPackage,
    description: 'Whether you like the package.',
    resolve: (pkg, _args, context) => likes.isMarked(context, pkg),
  }),
}))

builder.queryField('likedPackages', (t) =>
  t.withAuth({ scope: 'read' }).connection(
    {
      type: LikeRef,
      description: 'Packages that you like, by name.',
      resolve: (_root, args, { em, viewer }) =>
        pageByKey(args, {
          keyOf: (like: PackageLike) => like.package.name,
          isKey: anyText,
          load: (limit, after) => listLikes(em, viewer.id, limit, after),
          count: () => countLikesOf(em, viewer.id),
        }),
    },
    connectionOf(LikeRef),
  ),
)

addMarkMutations('LikePackage', 'The package to like or unlike.', setLike, [
  { name: 'likePackage', isMarked: true, description: 'Likes a package. Repeating it changes nothing.' },
  { name: 'unlikePackage', isMarked: false, description: 'Removes your like of a package. Repeating it changes nothing.' },
])
