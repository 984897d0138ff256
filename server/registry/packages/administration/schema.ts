import { builder } from '../../../platform/graphql/builder.ts'
import { notNegative, partOfText } from '../../../platform/graphql/connections.ts'
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
        q: t.arg.string({ description: 'Part of the name.', ...partOfText }),
        visibility: t.arg({ type: VisibilityEnum, description: 'Returns only public or only private packages.' }),
        orderBy: t.arg({ type: ManagedPackageOrder, description: 'Sort order. Defaults to NAME.' }),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { q, visibility, orderBy, ...args }, context) => listManaged(context, { query: q, visibility, orderBy }, args),
    },
    { description: 'A page of packages.' },
    { description: 'A package in a page.' },
  ),
)
