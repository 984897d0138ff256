import { publicUrl } from '../../../platform/http/public-url.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import type { Context } from '../../../platform/access/context.ts'
import { UserRef } from '../../../accounts/users/refs.ts'
import type { PackageVersion, DocumentKind } from '../entity.ts'
import { installation, pubspecOf, type Installation, type Shell } from './pubspec.ts'
import { archiveUrl } from '../../../platform/pub/package-name.ts'
import type { Pubspec } from '../../archive/pubspec.ts'
import { DependencyKind, DependencyRef, DocumentRef, ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../refs.ts'
import { loadPackage } from '../service.ts'
import { loadUser } from '../../../accounts/users/service.ts'
import { findVersionById, readableDependencies, readablePubspec } from './service.ts'
import { type VersionGroup, versionGroups } from './releases.ts'
import { changelogLine, findDocument, readSource, renderVersionDocument } from './documents.ts'
import type { Dependency } from '../../archive/dependencies.ts'

const optional = { ...ofPublicVersion, nullable: true } as const
const link = { ...optional, type: 'URL' } as const
const few = { ...ofPublicVersion, extensions: { size: 5 } } as const
const document = { ...optional, type: DocumentRef } as const

builder.node(PackageVersionRef, {
  description: 'One published version. Its archive never changes.',
  authScopes: { scope: 'read' },
  id: { ...ofPublicVersion, resolve: (version) => version.id },
  loadOne: (id, context) => findVersionById(context, id),
  fields: (t) => ({
    package: t.field({ ...ofPublicVersion, type: PackageRef, description: 'The package.', resolve: packageOf }),
    version: t.expose('version', { ...ofPublicVersion, type: 'SemVer', description: 'The version.' }),
    isPrerelease: t.exposeBoolean('isPrerelease', { ...ofPublicVersion, description: 'Whether the version is a pre-release.' }),
    isRetracted: t.boolean({
      ...ofPublicVersion,
      description: 'Whether the version is retracted. Clients do not select retracted versions for new users.',
      resolve: ({ retractedAt }) => retractedAt != null,
    }),
    retractedAt: t.expose('retractedAt', { ...optional, type: 'DateTime', description: 'When the version was retracted.' }),
    publishedAt: t.expose('createdAt', { ...ofPublicVersion, type: 'DateTime', description: 'When the version was published.' }),
    publishedBy: t.field({
      ...optional,
      type: UserRef,
      description: 'User who published the version; null if the account was deleted, and without signing in.',
      resolve: ({ publishedBy }, _args, context) => (publishedBy && context.viewer ? loadUser(context, publishedBy.id) : null),
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  archiveUrl: t.field({
    ...ofPublicVersion,
    type: 'URL',
    description: 'Download URL of the archive.',
    resolve: async (version, _args, context) =>
      archiveUrl(publicUrl(context.request, context.config.SERVER_URL), (await packageOf(version, {}, context)).name, version.version),
  }),
  archiveSha256: t.exposeString('archiveSha256', { ...ofPublicVersion, description: 'SHA-256 of the archive, in hex.' }),
  archiveBytes: t.expose('archiveBytes', { ...ofPublicVersion, type: 'BigInt', description: 'Size of the archive in bytes.' }),
  install: t.field({
    ...ofPublicVersion,
    type: InstallationRef,
    description: 'How to use the version.',
    resolve: (version, _args, { config }) => installation(pubspecOf(version), config.SERVER_URL),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  pubspec: t.string({
    ...ofPublicVersion,
    description: 'The pubspec as JSON text.',
    resolve: (version, _args, context) => readablePubspec(context, version),
  }),
  description: t.string({ ...optional, description: 'Description from the pubspec.', resolve: from('description') }),
  homepage: t.field({ ...link, description: 'URL of the home page.', resolve: from('homepage') }),
  repository: t.field({ ...link, description: 'URL of the source repository.', resolve: from('repository') }),
  issueTracker: t.field({ ...link, description: 'URL of the issue tracker.', resolve: from('issueTracker') }),
  documentation: t.field({ ...link, description: 'URL of the documentation that the pubspec names.', resolve: from('documentation') }),
  topics: t.stringList({ ...few, description: 'Topics from the pubspec.', resolve: from('topics') }),
  funding: t.field({ ...few, type: ['URL'], description: 'URLs for funding the author.', resolve: from('funding') }),
  platforms: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 6 },
    description: 'Platforms declared in the pubspec; empty if none are declared.',
    resolve: from('platforms'),
  }),
  executables: t.stringList({ ...few, description: 'Names of the executables.', resolve: from('executables') }),
  needsFlutter: t.boolean({ ...ofPublicVersion, description: 'Whether the package requires Flutter.', resolve: from('needsFlutter') }),
  environment: t.field({
    ...ofPublicVersion,
    extensions: { size: 2 },
    type: [EnvironmentRef],
    description: 'Supported SDK versions.',
    resolve: from('environment'),
  }),
  dependencies: t.field({
    ...ofPublicVersion,
    extensions: { size: 30 },
    type: [DependencyRef],
    description: 'Dependencies, followed by dev dependencies.',
    resolve: (version, _args, context) => readableDependencies(context, version),
  }),
}))

function from<Key extends keyof Pubspec>(key: Key) {
  return (version: PackageVersion): Pubspec[Key] => pubspecOf(version)[key]
}

async function packageOf(version: PackageVersion, _args: object, context: Context) {
  const pkg = await loadPackage(context, version.package.id)
  if (!pkg) throw new Error(`Version ${version.id} has no package`)
  return pkg
}

DocumentRef.implement({
  description: 'A document from the archive of a version, truncated to 256 KiB.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    path: t.exposeString('path', { ...ofPublicVersion, description: 'Path in the archive.' }),
    isShortened: t.boolean({
      ...ofPublicVersion,
      description: 'Whether the file is longer. Only its first 256 KiB are kept.',
      resolve: ({ bytes }) => bytes > 256 * 1024 - 4, // the text ends between two characters
    }),
    source: t.string({
      ...ofPublicVersion,
      extensions: { cost: 3 },
      description: 'The original text.',
      resolve: (document, _args, context) => readSource(context, document),
    }),
    html: t.string({
      ...ofPublicVersion,
      extensions: { cost: 10 },
      description:
        'The text as sanitized HTML: no scripts or styles, ids prefixed with `doc-`. Relative links and images point to the files of the version. Links to files of the repository name the page of the same file in `data-page`, which the version may not contain. In changelogs, version headings contain when they were published.',
      resolve: (document, _args, context) => renderVersionDocument(context, document),
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  readme: t.field({ ...document, description: 'The README.', resolve: documentOf('readme') }),
  changelog: t.field({ ...document, description: 'The changelog.', resolve: documentOf('changelog') }),
  license: t.field({ ...document, description: 'The license.', resolve: documentOf('license') }),
  example: t.field({ ...document, description: 'The example.', resolve: documentOf('example') }),
}))

builder.objectField(PackageVersionRef, 'changelogLine', (t) =>
  t.string({
    ...optional,
    description:
      'First line about the version in its changelog, as plain text of at most 200 characters. Null if the changelog does not start with the version.',
    resolve: (version, _args, context) => changelogLine(context, version),
  }),
)

const VersionGroupRef = builder.objectRef<VersionGroup>('VersionGroup').implement({
  description: 'The versions of a package with the same major version.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the group, such as 2.x.' }),
    constraint: t.exposeString('constraint', {
      description: 'Constraint that allows these versions, for the argument `filter` of `versions`.',
    }),
    count: t.exposeInt('count', { description: 'Number of versions.' }),
    highest: t.expose('highest', { type: 'SemVer', description: 'The highest version.' }),
  }),
})

builder.objectField(PackageRef, 'versionGroups', (t) =>
  t.field({
    ...ofPublicPackage,
    extensions: { size: 10 },
    type: [VersionGroupRef],
    description: 'All versions by major version, highest first.',
    resolve: (pkg, _args, context) => versionGroups(context, pkg),
  }),
)

function documentOf(kind: DocumentKind) {
  return (version: PackageVersion, _args: object, context: Context) => findDocument(context, version, kind)
}

const DependencySource = builder.enumType('DependencySource', {
  description: 'Where a dependency comes from.',
  values: {
    HOSTED: { value: 'hosted', description: 'A package registry.' },
    SDK: { value: 'sdk', description: 'An SDK.' },
    GIT: { value: 'git', description: 'A git repository.' },
    PATH: { value: 'path', description: 'A local path.' },
  } satisfies Record<Uppercase<Dependency['source']>, { value: Dependency['source']; description: string }>,
})

DependencyRef.implement({
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

const ShellEnum = builder.enumType('Shell', {
  description: 'A command-line shell.',
  values: {
    POSIX: { value: 'posix', description: 'sh, bash, zsh and fish.' },
    POWERSHELL: { value: 'powershell', description: 'PowerShell.' },
    CMD: { value: 'cmd', description: 'The Windows command prompt.' },
  } satisfies Record<Uppercase<Shell>, { value: Shell; description: string }>,
})

export const InstallationRef = builder.objectRef<Installation>('Installation').implement({
  description: 'Commands and snippets for using a version.',
  fields: (t) => ({
    tokenCommand: t.exposeString('tokenCommand', { description: 'Command that adds a token for this server to the client. Needed once.' }),
    addCommand: t.string({
      description: 'Command that adds the package to a pubspec.',
      args: {
        shell: t.arg({ type: ShellEnum, required: true, defaultValue: 'posix', description: 'Shell that the command is quoted for.' }),
      },
      resolve: ({ addCommands }, { shell }) => addCommands[shell],
    }),
    pubspecYaml: t.exposeString('pubspecYaml', { description: 'Dependency to add to a pubspec by hand.' }),
    importStatement: t.exposeString('importStatement', { description: 'Import statement for the main library.' }),
    activateCommand: t.exposeString('activateCommand', {
      nullable: true,
      description: 'Command that installs the executables; null if the package has none.',
    }),
  }),
})
