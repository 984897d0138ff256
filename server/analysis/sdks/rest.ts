import { z } from 'zod'
import { ok, route } from '../../platform/rest/route.ts'

const release = 'kind version channel publishedAt dartVersion'
const install = 'id: uuid kind version channel platform status isDefault sizeBytes path errorMessage createdAt readyAt'
const ofInstall = { ids: { id: 'SdkInstall' }, names: { id: 'installId' } }

export const sdkRoutes = [
  route(
    'GET /api/admin/sdk/releases',
    `query ($channel: SdkChannel!, $kind: SdkKind) { releases: sdkReleases(channel: $channel, kind: $kind) { ${release} } warnings: sdkReleaseWarnings(channel: $channel, kind: $kind) }`,
    {
      summary:
        'The newest releases of a channel (stable, beta or dev), of both Dart and Flutter unless `kind` is given. `warnings` lists archives that cannot be read.',
      changes: {
        warnings: {
          from: (warnings) => ((warnings as string[]).length > 0 ? warnings : undefined),
          schema: z.array(z.string()).optional(),
        },
      },
    },
  ),
  route('GET /api/admin/sdk/installs', `{ installs: sdkInstalls { ${install} } }`, { summary: 'The SDKs on this server.' }),
  route('POST /api/admin/sdk/installs', `mutation ($input: InstallSdkInput!) { installSdk(input: $input) { install { ${install} } } }`, {
    summary: 'Starts to install an SDK. Returns an SDK that is already installed unchanged.',
    status: 201,
    answer: 'installSdk.install',
    errorStatuses: [404],
  }),
  route(
    'GET /api/admin/sdk/installs/:id/progress',
    'query ($id: ID!) { sdkInstallProgress(installId: $id) { installId status bytesDone bytesTotal percent log } }',
    { summary: 'The progress of an install.', answer: 'sdkInstallProgress' },
  ),
  route(
    'POST /api/admin/sdk/installs/:id/set-default',
    `mutation ($input: SetDefaultSdkInput!) { setDefaultSdk(input: $input) { install { ${install} } } }`,
    { summary: 'Makes an SDK the default of its kind.', ...ofInstall, answer: 'setDefaultSdk.install' },
  ),
  route(
    'POST /api/admin/sdk/installs/:id/rebuild',
    `mutation ($input: RebuildSdkInput!) { rebuildSdk(input: $input) { install { ${install} } } }`,
    { summary: 'Reinstalls an SDK.', ...ofInstall, answer: 'rebuildSdk.install' },
  ),
  route('DELETE /api/admin/sdk/installs/:id', 'mutation ($input: RemoveSdkInput!) { removeSdk(input: $input) { removedInstallId } }', {
    summary: 'Removes an SDK.',
    ...ofInstall,
    answer: ok,
  }),
  route('GET /api/admin/sdk/platform', '{ platform: sdkPlatform { os arch sdkPlatform freeDiskBytes } }', {
    summary: 'The platform of the server.',
    answer: 'platform',
  }),
]
