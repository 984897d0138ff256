import { builder } from '../graphql/builder.ts'
import { type InstallStatus, type SdkChannel, SdkInstall, type SdkKind } from './entity.ts'
import { byServerAdmin, canManageSdks } from './policy.ts'
import { type Platform, sdkRoot } from './platform.ts'
import { freeBytes } from './platform.ts'
import { isUsable, placesOf } from './ready.ts'
import type { InstallProgress } from './progress.ts'
import type { Release } from './release.ts'

type Values<Word extends string> = Record<Uppercase<Word>, { value: Word; description: string }>

export const SdkKindEnum = builder.enumType('SdkKind', {
  description: 'Which SDK.',
  values: {
    DART: { value: 'dart', description: 'The Dart SDK.' },
    FLUTTER: { value: 'flutter', description: 'The Flutter SDK, which brings its own Dart: packages that need Flutter need it.' },
  } satisfies Values<SdkKind>,
})

export const SdkChannelEnum = builder.enumType('SdkChannel', {
  description: 'Release channel of an SDK.',
  values: {
    STABLE: { value: 'stable', description: 'Stable releases.' },
    BETA: { value: 'beta', description: 'Previews of the next stable release.' },
    DEV: { value: 'dev', description: 'Development releases.' },
  } satisfies Values<SdkChannel>,
})

const StatusEnum = builder.enumType('SdkInstallStatus', {
  description: 'How far the install of an SDK is.',
  values: {
    DOWNLOADING: { value: 'downloading', description: 'The archive is being downloaded and its SHA-256 compared.' },
    EXTRACTING: { value: 'extracting', description: 'The archive is being unpacked.' },
    PREPARING: { value: 'preparing', description: 'The SDK is tried out and pana is being made ready.' },
    READY: { value: 'ready', description: 'It can be used.' },
    FAILED: { value: 'failed', description: 'It could not be installed; the error message says why. Install it again, or remove it.' },
  } satisfies Values<InstallStatus>,
})

export const SdkReleaseRef = builder.objectRef<Release>('SdkRelease').implement({
  description: 'A release of an SDK that can be installed.',
  fields: (t) => ({
    kind: t.expose('kind', { type: SdkKindEnum, description: 'Which SDK.' }),
    version: t.expose('version', { type: 'SemVer', description: 'Its version.' }),
    channel: t.expose('channel', { type: SdkChannelEnum, description: 'Its channel.' }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was published, if the archive says so.',
    }),
    dartVersion: t.exposeString('dartVersion', { nullable: true, description: 'The version of Dart in it.' }),
  }),
})

export const SdkInstallRef = builder.objectRef<SdkInstall>('SdkInstall')
builder.node(SdkInstallRef, {
  description: 'An SDK on this server, installed or on its way.',
  authScopes: byServerAdmin,
  id: { resolve: (install) => install.id },
  loadOne: (id, { em, scopes }) => (canManageSdks({ scopes }) ? em.findOne(SdkInstall, { id }) : null),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'Its plain identifier, as REST shows it.' }),
    kind: t.expose('kind', { type: SdkKindEnum, description: 'Which SDK.' }),
    version: t.expose('version', { type: 'SemVer', description: 'Its version.' }),
    channel: t.expose('channel', { type: SdkChannelEnum, description: 'Its channel.' }),
    platform: t.exposeString('platform', { description: 'Operating system and architecture, such as linux-x64.' }),
    status: t.expose('status', { type: StatusEnum, description: 'How far it is.' }),
    isDefault: t.exposeBoolean('isDefault', { description: 'Whether packages of its kind are analyzed with it.' }),
    isUsable: t.boolean({
      description: 'Whether it is ready, and its folder is on the machine of the instance that answers.',
      resolve: (install, _args, { config }) => isUsable(config, install),
    }),
    isImported: t.boolean({
      description: 'Whether it came from a file on the server.',
      resolve: ({ importedSha256 }) => importedSha256 != null,
    }),
    sizeBytes: t.expose('sizeBytes', {
      type: 'BigInt',
      nullable: true,
      description: 'Its size on disk in bytes; null before it is ready.',
    }),
    path: t.string({
      nullable: true,
      description: 'Its folder on the server; null before it is ready.',
      resolve: (install, _args, { config }) => (install.status === 'ready' ? placesOf(config, install).path : null),
    }),
    dartVersion: t.exposeString('dartVersion', { nullable: true, description: 'The version of Dart in it, as it says itself.' }),
    panaVersion: t.exposeString('panaVersion', { nullable: true, description: 'The version of pana that was made ready with it.' }),
    errorMessage: t.exposeString('errorMessage', { nullable: true, description: 'Why it failed.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    readyAt: t.expose('readyAt', { type: 'DateTime', nullable: true, description: 'When it was ready.' }),
  }),
})

export const SdkInstallProgressRef = builder.objectRef<InstallProgress>('SdkInstallProgress').implement({
  description: 'How far the install of an SDK is.',
  fields: (t) => ({
    installId: t.exposeID('installId', { description: 'Plain identifier of the install.' }),
    status: t.expose('status', { type: StatusEnum, description: 'What is being done.' }),
    bytesDone: t.expose('bytesDone', { type: 'BigInt', description: 'Bytes of the current step that are done.' }),
    bytesTotal: t.expose('bytesTotal', {
      type: 'BigInt',
      nullable: true,
      description: 'How many there are to do, where that is known.',
    }),
    percent: t.exposeInt('percent', { description: 'How much of the current step is done; 100 when it is ready.' }),
    log: t.exposeStringList('log', { description: 'What happened, the last 200 lines.' }),
    errorMessage: t.exposeString('errorMessage', { nullable: true, description: 'Why it failed.' }),
  }),
})

export const SdkPlatformRef = builder.objectRef<Platform>('SdkPlatform').implement({
  description: 'What the server runs on, as far as SDKs are concerned.',
  fields: (t) => ({
    os: t.exposeString('os', { description: 'Operating system: linux, macos or windows.' }),
    arch: t.exposeString('arch', { description: 'Architecture, such as x64 or arm64.' }),
    sdkPlatform: t.exposeString('sdkPlatform', { description: 'Both, as archives of SDKs name them, such as linux-x64.' }),
    freeDiskBytes: t.field({
      type: 'BigInt',
      description: 'Free disk space for SDKs, in bytes.',
      resolve: (_platform, _args, { config }) => freeBytes(config),
    }),
    folder: t.string({ description: 'Where SDKs are kept.', resolve: (_platform, _args, { config }) => sdkRoot(config) }),
  }),
})
