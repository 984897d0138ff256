import type { Dependency } from '../../archive/dependencies.ts'
import { isThisServer } from '../hosting/this-server.ts'
import { builder } from '../../graphql/builder.ts'
import { anyText, notNegative, pageByKey } from '../../graphql/connections.ts'
import type { Context } from '../../access/context.ts'
import { countDependents, type Dependent, listDependents } from './service.ts'
import { loadServing } from '../listing/serving.ts'
import { DependencyKind, DependencyRef } from '../versions/pubspec-schema.ts'
import { PackageRef } from '../refs.ts'
import { loadPackage, loadReadablePackage } from '../service.ts'

/** Explains the risk of a dependency without a registry URL. */
const risk =
  'the client asks its default one (pub.dev): whoever publishes a package of this name there decides what is installed (dependency confusion).'

const DependentRef = builder.objectRef<Dependent>('Dependent').implement({
  description: 'A package whose latest version depends on another one of this server.',
  fields: (t) => ({
    package: t.field({
      type: PackageRef,
      nullable: true,
      description: 'The package; null when it has just been deleted.',
      resolve: ({ packageId }, _args, context) => loadPackage(context, packageId),
    }),
    version: t.expose('version', { type: 'SemVer', description: 'Its latest version.' }),
    constraint: t.exposeString('constraint', { description: 'The versions that it needs, such as ^1.2.0; `any` for all.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Who needs it.' }),
    isBare: t.exposeBoolean('isBare', {
      description: `Whether it names no registry, so that ${risk}`,
    }),
  }),
})

builder.objectField(PackageRef, 'dependents', (t) =>
  t.connection(
    {
      type: DependentRef,
      authScopes: { scope: 'read' },
      description:
        'The packages of this server whose latest version depends on this one, by name: as hosted here, or without naming a registry (`isBare`).',
      args: {
        offset: t.arg.int({
          description: 'Skip this many, for page numbers; cursors are cheaper.',
          validate: notNegative,
        }),
      },
      resolve: ({ name }, { offset, ...args }, { database: { heavyReads }, config }) =>
        pageByKey(args, {
          keyOf: (dependent: Dependent) => dependent.name,
          isKey: anyText,
          load: (limit, after) => listDependents(heavyReads, config, { name, limit, after, offset }),
          count: () => countDependents(heavyReads, config, name),
        }),
    },
    { description: 'A page of dependents.' },
    { description: 'A dependent in a page.' },
  ),
)

const isHere = ({ hostedUrl }: Dependency, context: Context) => isThisServer(context, hostedUrl)

builder.objectFields(DependencyRef, (t) => ({
  isHostedHere: t.boolean({
    description: 'Whether the client looks for it on this server.',
    resolve: (dependency, _args, context) => isHere(dependency, context),
  }),
  isBare: t.boolean({
    description: `Whether it names no registry although this server has a package of this name that you may read, so that ${risk}`,
    resolve: async ({ name, source, hostedUrl }, _args, context) => {
      return source === 'hosted' && hostedUrl === null && (await loadReadablePackage(context, name)) !== null
    },
  }),
  package: t.field({
    type: PackageRef,
    nullable: true,
    description: 'The package, when it is looked for here, and is there for you.',
    resolve: async (dependency, _args, context) => {
      return (await isHere(dependency, context)) ? loadReadablePackage(context, dependency.name) : null
    },
  }),
  servedBy: t.field({
    type: 'SemVer',
    nullable: true,
    description:
      'The highest version here that satisfies the constraint and is not retracted, when it is looked for here. For people who signed in.',
    resolve: async (dependency, _args, context) =>
      context.viewer && (await isHere(dependency, context)) ? loadServing(context, `${dependency.name} ${dependency.constraint}`) : null,
  }),
}))
