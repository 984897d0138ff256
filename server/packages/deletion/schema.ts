import { builder } from '../../graphql/builder.ts'
import { done } from '../../graphql/payload.ts'
import { anyText, pageByKey } from '../../graphql/connections.ts'
import { VisibilityEnum } from '../visibility/refs.ts'
import { brokenBy, deletePackage, deleteVersion, requireVersion } from './service.ts'
import { affectedByDeletion, type AffectedDependent } from './impact.ts'
import { packageName } from '../parameters.ts'
import { DependencyKind } from '../versions/pubspec-schema.ts'
import { PackageRef } from '../refs.ts'
import { loadPackage } from '../service.ts'

builder.objectField(PackageRef, 'brokenByDeletion', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    extensions: { cost: 50 },
    type: t.listRef(t.listRef('String')),
    description:
      'The public packages that would break if this one, or just one version of it, were deleted: each as names from itself down to this package. For administrators.',
    args: { version: t.arg({ type: 'SemVer', description: 'The version to delete, which must exist; the whole package when left out.' }) },
    resolve: async (pkg, { version }, context) => {
      await requireVersion(context.em, pkg, version)
      return brokenBy(context.em, context, pkg, version)
    },
  }),
)

const AffectedDependentRef = builder.objectRef<AffectedDependent>('AffectedDependent').implement({
  description: 'A package that depends on what is to be deleted, private or public; for administrators.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    package: t.field({
      type: PackageRef,
      nullable: true,
      description: 'The package; null when it has just been deleted.',
      resolve: ({ packageId }, _args, context) => loadPackage(context, packageId),
    }),
    name: t.exposeString('name', { description: 'Its name.' }),
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'Who can read it.' }),
    version: t.expose('version', {
      type: 'SemVer',
      description: 'The version that depends on it: the latest, else the highest that does.',
    }),
    constraint: t.exposeString('constraint', { description: 'The versions that it needs, such as ^1.2.0; `any` for all.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Who needs it.' }),
    isBare: t.exposeBoolean('isBare', {
      description: 'Whether it names no registry: only clients whose default registry this server is find it here.',
    }),
    isBroken: t.exposeBoolean('isBroken', { description: 'Whether no remaining version would satisfy its constraint.' }),
  }),
})

builder.objectField(PackageRef, 'affectedByDeletion', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AffectedDependentRef,
      description:
        'All packages that depend on this one, or on just one version of it, including private packages, by name. For administrators.',
      args: {
        version: t.arg({ type: 'SemVer', description: 'The version to delete, which must exist; the whole package when left out.' }),
      },
      resolve: async (pkg, { version, ...page }, { em, config }) => {
        await requireVersion(em, pkg, version)
        const all = await affectedByDeletion(em, config, pkg.name, version)
        return pageByKey(page, {
          keyOf: (dependent: AffectedDependent) => dependent.name,
          isKey: anyText,
          load: async (limit, after) => all.filter((dependent) => after === undefined || dependent.name > after).slice(0, limit),
          count: async () => all.length,
        })
      },
    },
    { description: 'A page of affected packages.' },
    { description: 'An affected package in a page.' },
  ),
)

const acceptBreakage = 'Whether public packages that depend on it may break. Otherwise they keep it from being deleted.'

builder.mutationField('deletePackage', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: 'Boolean',
    description: 'Deletes a package with all its versions, whose numbers stay taken. Always true.',
    typeOptions: { description: 'The package to delete.' },
    argOptions: { description: 'Which one.' },
    input: {
      package: t.input.string({ required: true, description: 'Its name.', validate: packageName }),
      acceptBreakage: t.input.boolean({ description: acceptBreakage }),
    },
    resolve: (_root, { input }, context) => done(deletePackage(context, input)),
  }),
)

builder.mutationField('deleteVersion', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: 'Boolean',
    description: 'Deletes a version, whose number stays taken; with its last version a package is deleted, too. Always true.',
    typeOptions: { description: 'The version to delete.' },
    argOptions: { description: 'Which one.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of its package.', validate: packageName }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Which version.' }),
      acceptBreakage: t.input.boolean({ description: acceptBreakage }),
    },
    resolve: (_root, { input }, context) => done(deleteVersion(context, input)),
  }),
)
