import { builder } from '../../../platform/graphql/builder.ts'
import { connectionOf } from '../../../platform/graphql/payload.ts'
import { anyText, notNegative, pageByKey } from '../../../platform/graphql/connections.ts'
import { countDependents, type Dependent, listDependents, thisServer } from './service.ts'
import { DependencyKind, PackageRef, packageOfRow } from '../refs.ts'

/** Risk of a dependency that names no registry, for descriptions. */
export const confusionRisk =
  'clients use their default registry (pub.dev): anyone can publish a package of the same name there and take its place (dependency confusion).'

const DependentRef = builder.objectRef<Dependent>('Dependent').implement({
  description: 'A package whose latest version depends on another package of this server.',
  fields: (t) => ({
    package: t.field(packageOfRow),
    version: t.expose('version', { type: 'SemVer', description: 'The latest version of the dependent.' }),
    constraint: t.exposeString('constraint', { description: 'The version constraint, such as ^1.2.0; `any` for all versions.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Kind of the dependency.' }),
    isBare: t.exposeBoolean('isBare', {
      description: `Whether the dependency names no registry, so that ${confusionRisk}`,
    }),
  }),
})

builder.objectField(PackageRef, 'dependents', (t) =>
  t.connection(
    {
      type: DependentRef,
      authScopes: { scope: 'read' },
      description:
        'Packages whose latest version depends on this one, by name. The dependency names this server, or no registry at all (`isBare`).',
      args: {
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: ({ name }, { offset, ...args }, { em, config }) =>
        pageByKey(args, {
          keyOf: (dependent: Dependent) => dependent.name,
          isKey: anyText,
          load: (limit, after) => listDependents(em, thisServer(config), { name, limit, after, offset }),
          count: () => countDependents(em, thisServer(config), name),
        }),
    },
    connectionOf(DependentRef),
  ),
)
