import { builder } from '../../../platform/graphql/builder.ts'
import { canSeeBelongings } from '../../../accounts/users/policy.ts'
import { UserRef } from '../../../accounts/users/refs.ts'
import { listOwnPackages } from './service.ts'
import { PackageRef } from '../refs.ts'

builder.objectField(UserRef, 'packages', (t) =>
  t.connection(
    {
      type: PackageRef,
      nullable: true,
      authScopes: { scope: 'read' },
      description:
        'Packages that the user can publish to, as an uploader or as a member of the owning publisher, by name. Null except for the user and administrators.',
      resolve: (user, args, context) => (canSeeBelongings(context, user) ? listOwnPackages(context.em, user.id, args) : null),
    },
    { description: 'A page of packages that a user can publish to.' },
    { description: 'A package in a page.' },
  ),
)
