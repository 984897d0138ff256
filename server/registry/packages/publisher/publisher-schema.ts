import { viewerCan } from '../../../platform/access/policy.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { canSeeUnlistedPackages } from '../../publishers/policy.ts'
import { PublisherRef } from '../../publishers/refs.ts'
import { PackageRef } from '../refs.ts'
import { countListedPackages, countAllPackages, listPublisherPackages } from './list.ts'

builder.objectFields(PublisherRef, (t) => ({
  packages: t.connection(
    {
      type: PackageRef,
      description: 'Packages of the publisher by name. Unlisted packages are included for members and administrators.',
      resolve: async (publisher, args, context) => {
        const withUnlisted = await viewerCan(context, canSeeUnlistedPackages, publisher)
        return listPublisherPackages(context.em, publisher, withUnlisted, args)
      },
    },
    { description: "A page of a publisher's packages." },
    { description: 'A package in a page.' },
  ),
  packageCount: t.int({
    description: 'Number of packages of the publisher that you can see.',
    resolve: async (publisher, _args, context) => {
      const all = await viewerCan(context, canSeeUnlistedPackages, publisher)
      return (await (all ? countAllPackages : countListedPackages)(context, publisher.id)) ?? 0
    },
  }),
}))
