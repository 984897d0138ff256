import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf, payload } from '../../platform/graphql/payload.ts'
import { anyText, pageByKey } from '../../platform/graphql/connections.ts'
import { ofPublicPackage, PackageRef } from '../packages/refs.ts'
import type { PackageLike } from './entity.ts'
import { countLikesOf, listLikes, loadLikeCount, loadLiked, setLike } from './service.ts'

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
    resolve: async (pkg, _args, context) =>
      context.viewer !== null && ((await loadLiked(context, `${pkg.id} ${context.viewer.id}`)) ?? false),
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

const LikePackageInput = builder.inputType('LikePackageInput', {
  description: 'The package to like or unlike.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Name of the package.', extensions: { maxLength: 64 } }),
  }),
})

const LikePackagePayload = payload('LikePackagePayload', 'The package after the change.', {
  package: { type: PackageRef, description: 'The package.' },
})

for (const [name, liked, description] of [
  ['likePackage', true, 'Likes a package. Repeating it changes nothing.'],
  ['unlikePackage', false, 'Removes your like of a package. Repeating it changes nothing.'],
] as const) {
  builder.mutationField(name, (t) =>
    t.withAuth({ scope: 'read' }).field({
      type: LikePackagePayload,
      description,
      args: { input: t.arg({ type: LikePackageInput, required: true, description: 'The package.' }) },
      resolve: async (_root, { input }, context) => ({ package: await setLike(context, input.package, liked) }),
    }),
  )
}
