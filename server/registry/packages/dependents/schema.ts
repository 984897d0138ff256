import type { Dependency } from '../../archive/dependencies.ts'
import { isThisServer } from '../hosting.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { anyText, notNegative, pageByKey } from '../../../platform/graphql/connections.ts'
import type { Context } from '../../../platform/access/context.ts'
import { countDependents, type Dependent, listDependents, loadResolvedVersion } from './service.ts'
import { DependencyKind, DependencyRef, PackageRef, packageOfRow } from '../refs.ts'
import { loadReadablePackage } from '../service.ts'

const risk =
  'clients use their default registry (pub.dev): anyone can publish a package of the same name there and take its place (dependency confusion).'

const DependentRef = builder.objectRef<Dependent>('Dependent').implement({
  description: 'A package whose latest version depends on another package of this server.',
  fields: (t) => ({
    package: t.field(packageOfRow),
    version: t.expose('version', { type: 'SemVer', description: 'The latest version of the dependent.' }),
    constraint: t.exposeString('constraint', { description: 'The version constraint, such as ^1.2.0; `any` for all versions.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Kind of the dependency.' }),
    isBare: t.exposeBoolean('isBare', {
      description: `Whether the dependency names no registry, so that ${risk}`,
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
      resolve: ({ name }, { offset, ...args }, { database: { reads }, config }) =>
        pageByKey(args, {
          keyOf: (dependent: Dependent) => dependent.name,
          isKey: anyText,
          load: (limit, after) => listDependents(reads, config, { name, limit, after, offset }),
          count: () => countDependents(reads, config, name),
        }),
    },
    { description: 'A page of dependents.' },
    { description: 'A dependent in a page.' },
  ),
)

const isHere = ({ hostedUrl }: Dependency, context: Context) => isThisServer(context, hostedUrl)

builder.objectFields(DependencyRef, (t) => ({
  isHostedHere: t.boolean({
    description: 'Whether the dependency is hosted on this server.',
    resolve: (dependency, _args, context) => isHere(dependency, context),
  }),
  isBare: t.boolean({
    description: `Whether the dependency names no registry although you can read a package of this name on this server, so that ${risk}`,
    resolve: async ({ name, source, hostedUrl }, _args, context) => {
      return source === 'hosted' && hostedUrl === null && (await loadReadablePackage(context, name)) !== null
    },
  }),
  package: t.field({
    type: PackageRef,
    nullable: true,
    description: 'The package, if it is hosted on this server and you can read it.',
    resolve: async (dependency, _args, context) => {
      return (await isHere(dependency, context)) ? loadReadablePackage(context, dependency.name) : null
    },
  }),
  servedBy: t.field({
    type: 'SemVer',
    nullable: true,
    description:
      'For dependencies hosted on this server: the highest version that satisfies the constraint and is not retracted. Null without signing in.',
    resolve: async (dependency, _args, context) =>
      context.viewer && (await isHere(dependency, context))
        ? loadResolvedVersion(context, `${dependency.name} ${dependency.constraint}`)
        : null,
  }),
}))
