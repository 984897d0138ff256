import { builder } from '../../graphql/builder.ts'
import { notNegative, partOfText } from '../../graphql/connections.ts'
import { VisibilityEnum } from '../visibility/refs.ts'
import { listManaged, type ManagedOrder, type ManagedPackage } from './service.ts'
import { PackageRef } from '../refs.ts'
import { loadPackage } from '../service.ts'

const ManagedPackageRef = builder.objectRef<ManagedPackage>('ManagedPackage').implement({
  description: 'A package and the storage that it uses, for administrators.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    package: t.field({
      type: PackageRef,
      nullable: true,
      description: 'The package; null when it has just been deleted.',
      resolve: ({ packageId }, _args, context) => loadPackage(context, packageId),
    }),
    publisherId: t.exposeString('publisherId', {
      nullable: true,
      description: 'The publisher that owns it; null when its uploaders alone do.',
    }),
    versionCount: t.exposeInt('versionCount', { description: 'How many versions it has, retracted ones included.' }),
    archiveBytes: t.expose('archiveBytes', { type: 'BigInt', description: 'Total size of their archives in bytes.' }),
  }),
})

const ManagedPackageOrder = builder.enumType('ManagedPackageOrder', {
  description: 'How to sort packages for their administration.',
  values: {
    NAME: { value: 'name', description: 'By name.' },
    SIZE: { value: 'size', description: 'The largest first.' },
    VERSIONS: { value: 'versions', description: 'Those with the most versions first.' },
    UPDATED: { value: 'updated', description: 'The most recently changed first.' },
  } satisfies Record<Uppercase<ManagedOrder>, { value: ManagedOrder; description: string }>,
})

builder.queryField('managedPackages', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: ManagedPackageRef,
      description: 'All packages, including unlisted ones, with the storage that they use; for administrators.',
      args: {
        q: t.arg.string({ description: 'Part of the name.', ...partOfText }),
        visibility: t.arg({ type: VisibilityEnum, description: 'Only those that are public, or private.' }),
        orderBy: t.arg({ type: ManagedPackageOrder, description: 'Order; NAME when left out.' }),
        offset: t.arg.int({ description: 'Skip this many, for page numbers; cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { q, visibility, orderBy, ...args }, context) => listManaged(context, { query: q, visibility, orderBy }, args),
    },
    { description: 'A page of packages.' },
    { description: 'A package in a page.' },
  ),
)
