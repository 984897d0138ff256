import { type Data, ok, route } from '../rest/route.ts'

const release = 'kind version channel publishedAt dartVersion'
const install = 'id: uuid kind version channel platform status isDefault sizeBytes path errorMessage createdAt readyAt'
const ids = { id: 'SdkInstall' }

export const sdkRoutes = [
  route(
    'GET /api/admin/sdk/releases',
    `query ($channel: SdkChannel!, $kind: SdkKind) { releases: sdkReleases(channel: $channel, kind: $kind) { ${release} } }`,
    {
      summary: 'The newest releases of a channel (stable, beta or dev), of Dart and Flutter unless a kind is given.',
      answer: { from: ({ releases }) => ({ releases: (releases as Data[]).map(restWords) }) },
    },
  ),
  route('GET /api/admin/sdk/installs', `{ installs: sdkInstalls { ${install} } }`, {
    summary: 'The SDKs on this server.',
    answer: { from: ({ installs }) => ({ installs: (installs as Data[]).map(restWords) }) },
  }),
  route('POST /api/admin/sdk/installs', `mutation ($input: InstallSdkInput!) { installSdk(input: $input) { install { ${install} } } }`, {
    summary: 'Begins to install an SDK; one that is installed is given as it is.',
    status: 201,
    answer: { from: ({ installSdk }) => restWords((installSdk as Changed).install) },
  }),
  route(
    'GET /api/admin/sdk/installs/:id/progress',
    'query ($id: ID!) { sdkInstallProgress(installId: $id) { installId status bytesDone bytesTotal percent log } }',
    { summary: 'How far an install is.', answer: { from: ({ sdkInstallProgress }) => restWords(sdkInstallProgress as Data) } },
  ),
  route(
    'POST /api/admin/sdk/installs/:id/set-default',
    `mutation ($input: SetDefaultSdkInput!) { setDefaultSdk(input: $input) { install { ${install} } } }`,
    {
      summary: 'Makes an SDK the default of its kind.',
      ids,
      answer: { from: ({ setDefaultSdk }) => restWords((setDefaultSdk as Changed).install) },
    },
  ),
  route(
    'POST /api/admin/sdk/installs/:id/rebuild',
    `mutation ($input: RebuildSdkInput!) { rebuildSdk(input: $input) { install { ${install} } } }`,
    { summary: 'Installs an SDK anew.', ids, answer: { from: ({ rebuildSdk }) => restWords((rebuildSdk as Changed).install) } },
  ),
  route('DELETE /api/admin/sdk/installs/:id', 'mutation ($input: RemoveSdkInput!) { removeSdk(input: $input) }', {
    summary: 'Removes an SDK.',
    ids,
    answer: ok,
  }),
  route('GET /api/admin/sdk/platform', '{ platform: sdkPlatform { os arch sdkPlatform freeDiskBytes } }', {
    summary: 'What the server runs on.',
    answer: 'platform',
  }),
]

type Changed = { install: Data }

const enums = ['kind', 'channel', 'status']

/** REST writes the words of enums in lower case. */
const restWords = (row: Data): Data =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, enums.includes(name) ? String(value).toLowerCase() : value]))
