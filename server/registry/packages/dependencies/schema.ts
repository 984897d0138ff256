import { builder } from '../../../platform/graphql/builder.ts'
import { wordEnum } from '../../../platform/graphql/payload.ts'
import { DependencyRef, ofPublicVersion, PackageRef, PackageVersionRef } from '../refs.ts'
import { confusionRisk } from '../dependents/schema.ts'
import { loadReadablePackage } from '../service.ts'
import {
  type Closure,
  type ClosureNode,
  dependencyClosure,
  isLocalDependency,
  maxNodes,
  type Problem,
  resolveDependency,
} from './closure.ts'

builder.objectFields(DependencyRef, (t) => ({
  isHostedHere: t.boolean({
    description: 'Whether the dependency is hosted on this server.',
    resolve: (dependency, _args, context) => isLocalDependency(dependency, context),
  }),
  isBare: t.boolean({
    description: `Whether the dependency names no registry although you can read a package of this name on this server, so that ${confusionRisk}`,
    resolve: async ({ name, source, hostedUrl }, _args, context) => {
      return source === 'hosted' && hostedUrl === null && (await loadReadablePackage(context, name)) !== null
    },
  }),
  package: t.field({
    type: PackageRef,
    nullable: true,
    description: 'The package, if it is hosted on this server and you can read it.',
    resolve: async (dependency, _args, context) => {
      return (await isLocalDependency(dependency, context)) ? loadReadablePackage(context, dependency.name) : null
    },
  }),
  servedBy: t.field({
    type: 'SemVer',
    nullable: true,
    description:
      'For dependencies hosted on this server: the highest version that satisfies the constraint and is not retracted. Null without signing in.',
    resolve: async (dependency, _args, context) =>
      context.viewer ? ((await resolveDependency(context, dependency))?.version ?? null) : null,
  }),
  resolved: t.field({
    type: PackageVersionRef,
    nullable: true,
    description:
      'For dependencies hosted on this server: the highest stable version that satisfies the constraint and is not retracted, or else the highest pre-release. Null if you can read no such version, and for other sources.',
    resolve: (dependency, _args, context) => resolveDependency(context, dependency),
  }),
}))

const ProblemEnum = wordEnum<Problem>('DependencyProblem', 'Why no version of a package can be used.', {
  conflict: 'No version satisfies the selected versions of all packages that depend on it.',
  unsatisfied: 'No version satisfies the constraint.',
})

const NodeRef = builder.objectRef<ClosureNode>('DependencyNode').implement({
  description: 'A package of this server that a version needs, directly or not.',
  fields: (t) => ({
    package: t.field({ type: PackageRef, description: 'The package.', resolve: ({ pkg }) => pkg }),
    version: t.expose('version', {
      type: PackageVersionRef,
      nullable: true,
      description:
        'The highest version that satisfies all constraints, or an older one if the highest versions conflict. In a conflict that could not be avoided, one that satisfies some constraints. Null if no version satisfies any.',
    }),
    problem: t.expose('problem', { type: ProblemEnum, nullable: true, description: 'Why no version can be used; null if one can.' }),
    dependencies: t.field({
      extensions: { size: 5 },
      type: [DependencyRef],
      description: 'The direct dependencies of the version, without dev dependencies.',
      resolve: ({ dependencies }) => dependencies,
    }),
  }),
})

const ClosureRef = builder.objectRef<Closure>('DependencyClosure').implement({
  description: 'The packages of this server that a version needs, directly or through other packages.',
  fields: (t) => ({
    nodes: t.field({
      extensions: { size: 15 },
      type: [NodeRef],
      description: 'The version itself, followed by the packages that it needs, each once. Packages that you cannot read are omitted.',
      resolve: ({ nodes }) => nodes,
    }),
    isTruncated: t.exposeBoolean('isTruncated', {
      description: `Whether there are more than ${maxNodes} packages. The others are omitted.`,
    }),
    isUnresolvable: t.exposeBoolean('isUnresolvable', {
      description:
        'Whether no combination of versions of this server satisfies all constraints. If false although nodes have a problem, there were too many combinations to try, and a client may find one.',
    }),
  }),
})

builder.objectField(PackageVersionRef, 'dependencyClosure', (t) =>
  t.field({
    ...ofPublicVersion,
    extensions: { cost: 50 },
    type: ClosureRef,
    description:
      'All packages of this server that the version needs, each with the highest version that satisfies all constraints. Older versions are tried where the highest ones conflict.',
    resolve: (version, _args, context) => dependencyClosure(context, version),
  }),
)
