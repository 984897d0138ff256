import { builder } from '../../../platform/graphql/builder.ts'
import { connectionOf } from '../../../platform/graphql/payload.ts'
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

const ManagedPackageOrder = builder.enumType('ManagedPackageOrder', {
  description: 'Sort order of packages for administrators.',
  values: {
    NAME: { value: 'name', description: 'By name.' },
    SIZE: { value: 'size', description: 'By total archive size, largest first.' },
    VERSIONS: { value: 'versions', description: 'By number of versions, most first.' },
    UPDATED: { value: 'updated', description: 'By last change, most recent first.' },
  } satisfies Record<Uppercase<ManagedOrder>, { value: ManagedOrder; description: string }>,
})

builder.queryField('managedPackages', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: ManagedPackageRef,
      description: 'All packages, including unlisted ones, with their storage usage. For administrators.',
      args: {
        query: t.arg.string(partOf('Part of the name.', 'q')),
        visibility: t.arg({ type: VisibilityEnum, description: 'Returns only public or only private packages.' }),
        orderBy: t.arg({ type: ManagedPackageOrder, description: 'Sort order. Defaults to NAME.' }),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { query, visibility, orderBy, ...args }, context) => listManaged(context, { query, visibility, orderBy }, args),
    },
    connectionOf(ManagedPackageRef),
  ),
)
