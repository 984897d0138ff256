import { z } from 'zod'
import { builder } from '../../../platform/graphql/builder.ts'
import { connectionOf } from '../../../platform/graphql/payload.ts'
import { anyText, notNegative, pageByKey } from '../../../platform/graphql/connections.ts'
import { countAllDependents, type DependentCount } from './breakage.ts'
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
        query: t.arg.string({
          description: 'Only dependents whose name contains this.',
          validate: z.string().max(64, 'must have at most 64 characters'),
        }),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: ({ name }, { query, offset, ...args }, { em, config }) =>
        pageByKey(args, {
          keyOf: (dependent: Dependent) => dependent.name,
          isKey: anyText,
          load: (limit, after) => listDependents(em, thisServer(config), { name, query, limit, after, offset }),
          count: () => countDependents(em, thisServer(config), name, query),
        }),
    },
    connectionOf(DependentRef),
  ),
)

const DependentCountRef = builder.objectRef<DependentCount>('DependentCount').implement({
  description: 'A number of packages that need another one.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'The number of packages, at most 1,000.' }),
    isExact: t.exposeBoolean('isExact', { description: 'Whether all were counted. If false, there may be more.' }),
  }),
})

builder.objectField(PackageRef, 'allDependents', (t) =>
  t.field({
    type: DependentCountRef,
    nullable: true,
    authScopes: { scope: 'read' },
    extensions: { cost: 20 },
    description:
      'How many packages need this one in their latest version, directly or through other packages of this server, without dev dependencies.',
    resolve: ({ name }, _args, { em, config }) => countAllDependents(em, thisServer(config), name),
  }),
)
