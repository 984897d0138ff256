import { builder } from '../../../platform/graphql/builder.ts'
import { viewerCan } from '../../../platform/access/policy.ts'
import { insufficientPermissions } from '../../../errors.ts'
import { canSeeActivity } from '../policy.ts'
import { PackageRef } from '../refs.ts'
import { listAuditEntries } from '../../../accounts/audit/list.ts'
import { AuditEntryRef } from '../../../accounts/audit/refs.ts'

builder.objectField(PackageRef, 'activity', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      description: 'Activity log of the package, newest first. Requires permission to administer the package.',
      args: {
        kind: t.arg.string({ description: 'A kind such as `package.version_retracted`, or a prefix such as `package.`.' }),
        olderThan: t.arg.id({ description: 'Returns only entries older than the entry with this UUID.' }),
      },
      resolve: async (pkg, { kind, olderThan, ...page }, context) => {
        if (!(await viewerCan(context, canSeeActivity, pkg)))
          throw insufficientPermissions(`Only administrators of ${pkg.name} can see its activity. Ask one of its uploaders.`)
        // An earlier, deleted package with the same name may have entries that belong to other users.
        return listAuditEntries(context.em, { kind, olderThan, package: pkg.name, from: pkg.createdAt }, page)
      },
    },
    { description: "A page of a package's activity." },
    { description: 'An entry in a page.' },
  ),
)
