import { builder } from '../graphql/builder.ts'
import { done, payload } from '../graphql/payload.ts'
import { watch } from '../graphql/subscriptions.ts'
import { thisPlatform } from './platform.ts'
import { byServerAdmin, canManageSdks } from './policy.ts'
import { isOver, progressOf, tagOf } from './progress.ts'
import { listReleases } from './releases.ts'
import { SdkChannelEnum, SdkInstallProgressRef, SdkInstallRef, SdkKindEnum, SdkPlatformRef, SdkReleaseRef } from './refs.ts'
import { findInstall, installSdk, listInstalls, loadInstall, rebuildSdk, removeSdk, setDefaultSdk } from './service.ts'

const releaseArguments = builder.args((t) => ({
  channel: t.field({ type: SdkChannelEnum, required: true, description: 'Which channel.' }),
  kind: t.field({ type: SdkKindEnum, description: 'Which SDK; both when left out.' }),
}))

builder.queryFields((t) => ({
  sdkReleases: t.withAuth(byServerAdmin).field({
    type: [SdkReleaseRef],
    extensions: { size: 200 },
    description:
      'The newest releases of a channel that can be installed, newest first, at most a hundred of each kind; for administrators. Releases of an archive that cannot be read are missing: see `sdkReleaseWarnings`.',
    args: releaseArguments,
    resolve: async (_root, { channel, kind }, context) => (await listReleases(context, channel, kind)).releases,
  }),
  sdkReleaseWarnings: t.withAuth(byServerAdmin).field({
    type: ['String'],
    extensions: { size: 2 },
    description: 'Archives whose releases are missing from `sdkReleases` because they cannot be read, a sentence each; for administrators.',
    args: releaseArguments,
    resolve: async (_root, { channel, kind }, context) => (await listReleases(context, channel, kind)).warnings,
  }),
  sdkInstalls: t.withAuth(byServerAdmin).field({
    type: [SdkInstallRef],
    extensions: { size: 20 },
    description: 'The SDKs on this server, installed or on their way; for administrators.',
    resolve: (_root, _args, { em }) => listInstalls(em),
  }),
  sdkInstallProgress: t.withAuth(byServerAdmin).field({
    type: SdkInstallProgressRef,
    description: 'How far the install of an SDK is; for administrators.',
    args: { installId: t.arg.id({ required: true, description: 'Plain identifier of the install.' }) },
    resolve: async (_root, { installId }, { em }) => progressOf(await findInstall(em, installId)),
  }),
  sdkPlatform: t.withAuth(byServerAdmin).field({
    type: SdkPlatformRef,
    description: 'What the server runs on; for administrators.',
    resolve: () => thisPlatform(),
  }),
}))

builder.subscriptionField('sdkInstallProgress', (t) =>
  t.withAuth(byServerAdmin).field({
    type: SdkInstallProgressRef,
    description: 'How far the install of an SDK is, and again whenever it gets ahead, until it is ready or failed; for administrators.',
    args: { installId: t.arg.id({ required: true, description: 'Plain identifier of the install.' }) },
    subscribe: (_root, { installId }, context) =>
      watch(context, {
        permits: canManageSdks,
        read: async ({ em }) => {
          const install = await loadInstall(em, installId)
          return install && progressOf(install)
        },
        tag: tagOf,
        isLast: isOver,
        missing: 'There is no SDK install with this id.',
      }),
    resolve: ({ value }) => value,
  }),
)

const InstallPayload = payload('SdkInstallPayload', 'An SDK as it is now.', {
  install: { type: SdkInstallRef, description: 'The SDK.' },
})

builder.mutationField('installSdk', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: InstallPayload,
    description:
      'Begins to install an SDK; `sdkInstallProgress` tells how far it is. One that is installed is given as it is, one that failed begins anew.',
    typeOptions: { description: 'The SDK to install.' },
    argOptions: { description: 'Which one.' },
    input: {
      kind: t.input.field({ type: SdkKindEnum, description: 'Which SDK; Dart when left out.' }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Its version.' }),
      channel: t.input.field({ type: SdkChannelEnum, required: true, description: 'Its channel.' }),
    },
    resolve: async (_root, { input: { kind, version, channel } }, context) => ({
      install: await installSdk(context, { kind: kind ?? 'dart', version, channel }),
    }),
  }),
)

builder.mutationField('setDefaultSdk', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: InstallPayload,
    description: 'Makes an SDK that is ready the default of its kind.',
    typeOptions: { description: 'The SDK to make the default.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [SdkInstallRef], description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => ({ install: await setDefaultSdk(context, input.id.id) }),
  }),
)

builder.mutationField('rebuildSdk', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: InstallPayload,
    description: 'Downloads and installs an SDK anew; meanwhile it cannot be used.',
    typeOptions: { description: 'The SDK to rebuild.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [SdkInstallRef], description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => ({ install: await rebuildSdk(context, input.id.id) }),
  }),
)

builder.mutationField('removeSdk', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: 'Boolean',
    description: 'Removes an SDK; one that is being installed is stopped. The default stays while scoring is on.',
    typeOptions: { description: 'The SDK to remove.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [SdkInstallRef], description: 'Which one.' }) },
    resolve: (_root, { input }, context) => done(removeSdk(context, input.id.id)),
  }),
)
