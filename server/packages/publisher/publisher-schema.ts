import { viewerCan } from '../../access/viewer-can.ts'
import { builder } from '../../graphql/builder.ts'
import { canSeeUnlistedPackages } from '../../publishers/policy.ts'
import { PublisherRef } from '../../publishers/refs.ts'
import { PackageRef } from '../refs.ts'
import { countListedPackages, countAllPackages, listPublisherPackages } from './list.ts'

builder.objectFields(PublisherRef, (t) => ({
  packages: t.connection(
    {
      type: PackageRef,
      description: 'Its packages by name; unlisted ones only for its members and for who administers the server.',
      resolve: async (publisher, args, context) => {
        const withUnlisted = await viewerCan(context, canSeeUnlistedPackages, publisher)
        return listPublisherPackages(context.em, publisher, withUnlisted, args)
      },
    },
    { description: "A page of a publisher's packages." },
    { description: 'A package in a page.' },
  ),
  packageCount: t.int({
    description: 'How many packages it owns, as far as you may see them.',
    resolve: async (publisher, _args, context) => {
      const all = await viewerCan(context, canSeeUnlistedPackages, publisher)
      return (await (all ? countAllPackages : countListedPackages)(context, publisher.id)) ?? 0
    },
  }),
}))
