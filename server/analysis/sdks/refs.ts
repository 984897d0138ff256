import { wordEnum } from '../../platform/graphql/payload.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { type InstallStatus, type SdkChannel, SdkInstall, type SdkKind } from './entity.ts'
import { isServerAdmin } from '../../platform/access/roles.ts'
import { type Platform, sdkRoot, freeBytes } from './platform.ts'
import { isUsable, pathsOf } from './ready.ts'
import type { progressOf } from './service.ts'
import type { Release } from './archive-site.ts'

export const SdkKindEnum = wordEnum<SdkKind>('SdkKind', 'Kind of an SDK.', {
  dart: 'The Dart SDK.',
  flutter: 'The Flutter SDK, which includes a Dart SDK. Required for packages that depend on Flutter.',
})

export const SdkChannelEnum = wordEnum<SdkChannel>('SdkChannel', 'Release channel of an SDK.', {
  stable: 'Stable releases.',
  beta: 'Previews of the next stable release.',
  dev: 'Development releases.',
})

const StatusEnum = wordEnum<InstallStatus>('SdkInstallStatus', 'Status of an SDK install.', {
  downloading: 'The archive is being downloaded and verified.',
  extracting: 'The archive is being unpacked.',
  preparing: 'The SDK is being tested and pana is being installed.',
  ready: 'The SDK can be used.',
  failed: 'The install failed; see `errorMessage`. Install the SDK again, or remove it.',
})

export const SdkReleaseRef = builder.objectRef<Release>('SdkRelease').implement({
  description: 'A release of an SDK that can be installed.',
  fields: (t) => ({
    kind: t.expose('kind', { type: SdkKindEnum, description: 'Kind of the SDK.' }),
    version: t.expose('version', { type: 'SemVer', description: 'Version of the SDK.' }),
    channel: t.expose('channel', { type: SdkChannelEnum, description: 'Release channel.' }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Publication date; null if the archive does not state it.',
    }),
    dartVersion: t.exposeString('dartVersion', { nullable: true, description: 'Version of the included Dart SDK.' }),
  }),
})

export const SdkInstallRef = builder.objectRef<SdkInstall>('SdkInstall')
builder.node(SdkInstallRef, {
  description: 'An SDK on this server: installed, being installed, or failed.',
  authScopes: { scope: 'admin' },
  id: { resolve: (install) => install.id },
  loadOne: (id, { em, scopes }) => (isServerAdmin({ scopes }) ? em.findOne(SdkInstall, { id }) : null),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'Plain identifier, as used by the REST API.' }),
    kind: t.expose('kind', { type: SdkKindEnum, description: 'Kind of the SDK.' }),
    version: t.expose('version', { type: 'SemVer', description: 'Version of the SDK.' }),
    channel: t.expose('channel', { type: SdkChannelEnum, description: 'Release channel.' }),
    platform: t.exposeString('platform', { description: 'Operating system and architecture, such as linux-x64.' }),
    status: t.expose('status', { type: StatusEnum, description: 'Installation status.' }),
    isDefault: t.exposeBoolean('isDefault', { description: 'Whether packages that need this kind of SDK are analyzed with it.' }),
    isUsable: t.boolean({
      description: 'Whether the SDK is ready and its folder exists on the instance that handles this request.',
      resolve: (install, _args, { config }) => isUsable(config, install),
    }),
    isImported: t.boolean({
      description: 'Whether the SDK was imported from a file on the server.',
      resolve: ({ importedSha256 }) => importedSha256 != null,
    }),
    sizeBytes: t.expose('sizeBytes', {
      type: 'BigInt',
      nullable: true,
      description: 'Size on disk in bytes; null until the SDK is ready.',
    }),
    path: t.string({
      nullable: true,
      description: 'Folder on the server; null until the SDK is ready.',
      resolve: (install, _args, { config }) => (install.status === 'ready' ? pathsOf(config, install).path : null),
    }),
    dartVersion: t.exposeString('dartVersion', { nullable: true, description: 'Dart version reported by the SDK.' }),
    panaVersion: t.exposeString('panaVersion', { nullable: true, description: 'Version of pana that was installed with the SDK.' }),
    errorMessage: t.exposeString('errorMessage', { nullable: true, description: 'Reason of the failure.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the install was requested.' }),
    readyAt: t.expose('readyAt', { type: 'DateTime', nullable: true, description: 'When the SDK became ready.' }),
  }),
})

export const SdkInstallProgressRef = builder.objectRef<ReturnType<typeof progressOf>>('SdkInstallProgress').implement({
  description: 'Progress of an SDK install.',
  fields: (t) => ({
    installId: t.exposeID('installId', { description: 'Plain identifier of the install.' }),
    status: t.expose('status', { type: StatusEnum, description: 'Current step.' }),
    bytesDone: t.expose('bytesDone', { type: 'BigInt', description: 'Bytes processed in the current step.' }),
    bytesTotal: t.expose('bytesTotal', {
      type: 'BigInt',
      nullable: true,
      description: 'Total bytes of the current step; null if unknown.',
    }),
    percent: t.exposeInt('percent', { description: 'Progress of the current step in percent; 100 when the SDK is ready.' }),
    log: t.exposeStringList('log', { description: 'The last 200 lines of the log.' }),
    errorMessage: t.exposeString('errorMessage', { nullable: true, description: 'Reason of the failure.' }),
  }),
})

export const SdkPlatformRef = builder.objectRef<Platform>('SdkPlatform').implement({
  description: 'Platform of the server and its disk space for SDKs.',
  fields: (t) => ({
    os: t.exposeString('os', { description: 'Operating system: linux, macos or windows.' }),
    arch: t.exposeString('arch', { description: 'Architecture, such as x64 or arm64.' }),
    sdkPlatform: t.exposeString('sdkPlatform', {
      description: 'Operating system and architecture as in SDK archive names, such as linux-x64.',
    }),
    freeDiskBytes: t.field({
      type: 'BigInt',
      description: 'Free disk space for SDKs, in bytes.',
      resolve: (_platform, _args, { config }) => freeBytes(config),
    }),
    folder: t.string({ description: 'Folder of all SDKs.', resolve: (_platform, _args, { config }) => sdkRoot(config) }),
  }),
})
