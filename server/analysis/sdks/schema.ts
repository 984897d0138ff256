import { builder } from '../../platform/graphql/builder.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { JobRef } from '../../platform/jobs/schema.ts'
import { watch } from '../../platform/graphql/subscriptions.ts'
import { thisPlatform } from './platform.ts'
import { isServerAdmin } from '../../platform/access/roles.ts'
import {
  isOver,
  progressOf,
  findInstall,
  sdkInstallKind,
  installSdk,
  listInstalls,
  loadInstall,
  loadSdk,
  rebuildSdk,
  removeSdk,
  setDefaultSdk,
} from './service.ts'
import { listReleases } from './releases.ts'
import { SdkChannelEnum, SdkInstallProgressRef, SdkInstallRef, SdkKindEnum, SdkPlatformRef, SdkReleaseRef } from './refs.ts'

const releaseArguments = builder.args((t) => ({
  channel: t.field({ type: SdkChannelEnum, required: true, description: 'Release channel.' }),
  kind: t.field({ type: SdkKindEnum, description: 'Kind of the SDK; both if omitted.' }),
}))

builder.queryFields((t) => ({
  sdkReleases: t.withAuth({ scope: 'admin' }).field({
    type: [SdkReleaseRef],
    extensions: { size: 200 },
    description:
      'The newest installable releases of a channel, newest first, at most 100 of each kind. Omits releases of archives that cannot be read: see `sdkReleaseWarnings`. Administrators only.',
    args: releaseArguments,
    resolve: async (_root, { channel, kind }, context) => (await listReleases(context, channel, kind)).releases,
  }),
  sdkReleaseWarnings: t.withAuth({ scope: 'admin' }).field({
    type: ['String'],
    extensions: { size: 2 },
    description: 'A message for each archive that cannot be read and is therefore missing from `sdkReleases`. Administrators only.',
    args: releaseArguments,
    resolve: async (_root, { channel, kind }, context) => (await listReleases(context, channel, kind)).warnings,
  }),
  sdkInstalls: t.withAuth({ scope: 'admin' }).field({
    type: [SdkInstallRef],
    extensions: { size: 20 },
    description: 'The SDKs on this server, whether installed, being installed or failed. Administrators only.',
    resolve: (_root, _args, { em }) => listInstalls(em),
  }),
  sdkInstallProgress: t.withAuth({ scope: 'admin' }).field({
    type: SdkInstallProgressRef,
    description: 'The progress of an SDK install. Administrators only.',
    args: { installId: t.arg.id({ required: true, description: 'Plain identifier of the install.' }) },
    resolve: async (_root, { installId }, { em }) => progressOf(await findInstall(em, installId)),
  }),
  sdkPlatform: t.withAuth({ scope: 'admin' }).field({
    type: SdkPlatformRef,
    description: 'The platform of the server. Administrators only.',
    resolve: () => thisPlatform(),
  }),
}))

builder.subscriptionField('sdkInstallProgress', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: SdkInstallProgressRef,
    description: 'Sends the progress of an SDK install, now and after every change, until it is ready or failed. Administrators only.',
    args: { installId: t.arg.id({ required: true, description: 'Plain identifier of the install.' }) },
    subscribe: (_root, { installId }, context) =>
      watch(context, {
        permits: isServerAdmin,
        read: async ({ em }) => {
          const install = await loadInstall(em, installId)
          return install && progressOf(install)
        },
        tag: (progress) => JSON.stringify(progress),
        isLast: isOver,
        missing: 'There is no SDK install with this id.',
      }),
    resolve: ({ value }) => value,
  }),
)

builder.objectField(JobRef, 'sdk', (t) =>
  t.field({
    type: SdkInstallRef,
    nullable: true,
    description: 'The SDK to install. Null for other jobs, or if the SDK was removed.',
    resolve: ({ kind, subject }, _args, { em }) => (kind === sdkInstallKind ? loadSdk({ em }, subject) : null),
  }),
)

const InstallPayload = payload('SdkInstallPayload', 'The SDK after the change.', {
  install: { type: SdkInstallRef, description: 'The SDK.' },
})

builder.mutationField('installSdk', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: InstallPayload,
    description:
      'Starts to install an SDK; see `sdkInstallProgress` for its progress. Returns an SDK that is already installed or being installed unchanged. Restarts a failed install.',
    typeOptions: { description: 'The SDK to install.' },
    argOptions: { description: 'The release to install.' },
    input: {
      kind: t.input.field({ type: SdkKindEnum, description: 'Kind of the SDK; Dart if omitted.' }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Version of the SDK.' }),
      channel: t.input.field({ type: SdkChannelEnum, required: true, description: 'Release channel.' }),
    },
    resolve: async (_root, { input: { kind, version, channel } }, context) => ({
      install: await installSdk(context, { kind: kind ?? 'dart', version, channel }),
    }),
  }),
)

builder.mutationFields((t) => ({
  setDefaultSdk: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: InstallPayload,
    description: 'Makes an SDK that is ready the default of its kind.',
    typeOptions: { description: 'The SDK to make the default.' },
    argOptions: { description: 'The SDK.' },
    input: { installId: t.input.globalID({ required: true, for: [SdkInstallRef], description: 'The SDK.', ...formerly('id') }) },
    resolve: async (_root, { input }, context) => ({ install: await setDefaultSdk(context, input.installId.id) }),
  }),
  rebuildSdk: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: InstallPayload,
    description: 'Downloads and installs an SDK again. The SDK is not usable until the install is ready.',
    typeOptions: { description: 'The SDK to rebuild.' },
    argOptions: { description: 'The SDK.' },
    input: { installId: t.input.globalID({ required: true, for: [SdkInstallRef], description: 'The SDK.', ...formerly('id') }) },
    resolve: async (_root, { input }, context) => ({ install: await rebuildSdk(context, input.installId.id) }),
  }),
  removeSdk: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RemoveSdkPayload', 'An SDK that was removed.', {
      removedInstallId: { type: 'ID', description: 'Global id of the SDK.' },
    }),
    extensions: { formerResult: true },
    description: 'Removes an SDK, or stops its install. If it was the default, the newest ready SDK of the same kind becomes the default.',
    typeOptions: { description: 'The SDK to remove.' },
    argOptions: { description: 'The SDK.' },
    input: { installId: t.input.globalID({ required: true, for: [SdkInstallRef], description: 'The SDK.', ...formerly('id') }) },
    resolve: (_root, { input }, context) =>
      done(removeSdk(context, input.installId.id), { removedInstallId: encodeGlobalID('SdkInstall', input.installId.id) }),
  }),
}))
