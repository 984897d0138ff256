import { builder } from '../../graphql/builder.ts'
import type { Installation } from '../install.ts'
import type { Dependency } from '../../archive/dependencies.ts'

export const DependencyKind = builder.enumType('DependencyKind', {
  description: 'Who needs a dependency.',
  values: {
    DIRECT: { value: 'direct', description: 'Everybody who uses the package.' },
    DEV: { value: 'dev', description: 'Only those who work on the package itself.' },
  } satisfies Record<Uppercase<Dependency['kind']>, { value: Dependency['kind']; description: string }>,
})

const DependencySource = builder.enumType('DependencySource', {
  description: 'Where a dependency comes from.',
  values: {
    HOSTED: { value: 'hosted', description: 'A package registry.' },
    SDK: { value: 'sdk', description: 'It comes with an SDK.' },
    GIT: { value: 'git', description: 'A git repository.' },
    PATH: { value: 'path', description: 'A folder beside the package.' },
  } satisfies Record<Uppercase<Dependency['source']>, { value: Dependency['source']; description: string }>,
})

export const DependencyRef = builder.objectRef<Dependency>('Dependency').implement({
  description: 'A package that another one needs, as its pubspec states it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    constraint: t.exposeString('constraint', { description: 'The versions that are needed, such as ^1.2.0; `any` for all.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Who needs it.' }),
    source: t.expose('source', { type: DependencySource, description: 'Where it comes from.' }),
    hostedUrl: t.exposeString('hostedUrl', { nullable: true, description: "The registry; null for the client's default one." }),
    sdk: t.exposeString('sdk', { nullable: true, description: 'The SDK that it comes with.' }),
  }),
})

export const EnvironmentRef = builder.objectRef<{ sdk: string; constraint: string }>('SdkConstraint').implement({
  description: 'The versions of an SDK that a package works with.',
  fields: (t) => ({
    sdk: t.exposeString('sdk', { description: '`sdk` for Dart, `flutter`, or another one.' }),
    constraint: t.exposeString('constraint', { description: 'The versions, such as >=3.0.0 <4.0.0.' }),
  }),
})

export const InstallationRef = builder.objectRef<Installation>('Installation').implement({
  description: 'What to type or paste to use a version.',
  fields: (t) => ({
    tokenCommand: t.exposeString('tokenCommand', { description: 'Gives the client a token for this server; needed once.' }),
    addCommand: t.exposeString('addCommand', { description: 'Adds the package to a pubspec.' }),
    pubspecYaml: t.exposeString('pubspecYaml', { description: 'What to write into a pubspec by hand.' }),
    importStatement: t.exposeString('importStatement', { description: 'Imports its main library.' }),
    activateCommand: t.exposeString('activateCommand', { nullable: true, description: 'Installs its commands; null when it has none.' }),
  }),
})
