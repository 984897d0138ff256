import { builder } from '../../graphql/builder.ts'
import { canSeeBelongings } from '../../users/policy.ts'
import { UserRef } from '../../users/refs.ts'
import { listOwnPackages } from './service.ts'
import { PackageRef } from '../refs.ts'

builder.objectField(UserRef, 'packages', (t) =>
  t.connection(
    {
      type: PackageRef,
      nullable: true,
      authScopes: { scope: 'read' },
      description:
        'The packages that they may publish to as an uploader or as a member of the owning publisher, by name; null unless it is you or you administer the server.',
      resolve: (user, args, context) => (canSeeBelongings(context, user) ? listOwnPackages(context.em, user.id, args) : null),
    },
    { description: 'A page of the packages that somebody may publish to.' },
    { description: 'A package in a page.' },
  ),
)
