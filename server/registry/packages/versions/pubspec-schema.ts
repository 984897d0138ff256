import { builder } from '../../../platform/graphql/builder.ts'
import type { Installation } from '../install.ts'
import type { Dependency } from '../../archive/dependencies.ts'

export const DependencyKind = builder.enumType('DependencyKind', {
  description: 'Kind of a dependency.',
  values: {
    DIRECT: { value: 'direct', description: 'Required by all users of the package.' },
    DEV: { value: 'dev', description: 'Required only to develop the package itself (dev dependency).' },
  } satisfies Record<Uppercase<Dependency['kind']>, { value: Dependency['kind']; description: string }>,
})

const DependencySource = builder.enumType('DependencySource', {
  description: 'Where a dependency comes from.',
  values: {
    HOSTED: { value: 'hosted', description: 'A package registry.' },
    SDK: { value: 'sdk', description: 'An SDK.' },
    GIT: { value: 'git', description: 'A git repository.' },
    PATH: { value: 'path', description: 'A local path.' },
  } satisfies Record<Uppercase<Dependency['source']>, { value: Dependency['source']; description: string }>,
})

export const DependencyRef = builder.objectRef<Dependency>('Dependency').implement({
  description: 'A dependency, as declared in the pubspec.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    constraint: t.exposeString('constraint', { description: 'The version constraint, such as ^1.2.0; `any` for all versions.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Kind of the dependency.' }),
    source: t.expose('source', { type: DependencySource, description: 'Source of the dependency.' }),
    hostedUrl: t.exposeString('hostedUrl', { nullable: true, description: "URL of the registry; null for the client's default registry." }),
    sdk: t.exposeString('sdk', { nullable: true, description: 'Name of the SDK that provides the package.' }),
  }),
})

export const EnvironmentRef = builder.objectRef<{ sdk: string; constraint: string }>('SdkConstraint').implement({
  description: 'SDK versions that a package supports.',
  fields: (t) => ({
    sdk: t.exposeString('sdk', { description: 'Name of the SDK: `sdk` for Dart, `flutter`, or another.' }),
    constraint: t.exposeString('constraint', { description: 'The version constraint, such as >=3.0.0 <4.0.0.' }),
  }),
})

export const InstallationRef = builder.objectRef<Installation>('Installation').implement({
  description: 'Commands and snippets for using a version.',
  fields: (t) => ({
    tokenCommand: t.exposeString('tokenCommand', { description: 'Command that adds a token for this server to the client. Needed once.' }),
    addCommand: t.exposeString('addCommand', { description: 'Command that adds the package to a pubspec.' }),
    pubspecYaml: t.exposeString('pubspecYaml', { description: 'Dependency to add to a pubspec by hand.' }),
    importStatement: t.exposeString('importStatement', { description: 'Import statement for the main library.' }),
    activateCommand: t.exposeString('activateCommand', {
      nullable: true,
      description: 'Command that installs the executables; null if the package has none.',
    }),
  }),
})
