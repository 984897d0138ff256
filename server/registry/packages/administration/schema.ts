import { builder } from '../../../platform/graphql/builder.ts'
import { connectionOf } from '../../../platform/graphql/payload.ts'
import { connectionOrders } from '../../../platform/graphql/types.ts'
import { notNegative, partOf } from '../../../platform/graphql/connections.ts'
import { VisibilityEnum, packageOfRow } from '../refs.ts'
import { listManaged, type ManagedOrder, type ManagedPackage } from './service.ts'

const ManagedPackageRef = builder.objectRef<ManagedPackage>('ManagedPackage').implement({
  description: 'A package with its storage usage, for administrators.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    package: t.field(packageOfRow),
    publisherId: t.exposeString('publisherId', {
      nullable: true,
      description: 'Identifier of the owning publisher; null if the package has no publisher.',
    }),
    versionCount: t.exposeInt('versionCount', { description: 'Number of versions, including retracted ones.' }),
    archiveBytes: t.expose('archiveBytes', { type: 'BigInt', description: 'Total size of all archives in bytes.' }),
  }),
})

const managedOrders = connectionOrders<ManagedOrder>('ManagedPackageOrder', 'Sort order of packages for administrators.', 'name', {
  name: { description: 'By name.', direction: 'asc' },
  size: { description: 'By total archive size.', direction: 'desc' },
  versions: { description: 'By number of versions.', direction: 'desc' },
  updated: { description: 'By last change.', direction: 'desc' },
})

export const managedSort = managedOrders.sortOf

builder.queryField('managedPackages', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: ManagedPackageRef,
      description: 'All packages, including unlisted ones, with their storage usage. For administrators.',
      args: {
        query: t.arg.string(partOf('Part of the name.', 'q')),
        visibility: t.arg({ type: VisibilityEnum, description: 'Returns only public or only private packages.' }),
        isDiscontinued: t.arg.boolean({ description: 'Returns only packages that are discontinued, or only packages that are not.' }),
        hasOwner: t.arg.boolean({
          description: 'False: only packages without a publisher and without an uploader whose account is enabled. True: all others.',
        }),
        isAnalyzed: t.arg.boolean({ description: 'Returns only packages whose latest version has a score, or only packages without.' }),
        ...managedOrders.args,
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, args, context) => listManaged(context, args, managedSort(args), args),
    },
    connectionOf(ManagedPackageRef),
  ),
)
