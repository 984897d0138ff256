import { ok, route } from '../../../platform/rest/route.ts'
import { unknownApp } from './service.ts'

const app = 'id: uuid name savedAt savedBy { userId: uuid displayName } publisher { publisherId: slug displayName }'
const locked =
  '{ name version reason state latest { version } locked { isRetracted advisories { advisory { osvId severity } fixedVersions } } }'

/** Routes for the lock files of applications that are saved by name. */
export const appRoutes = [
  route(
    'GET /api/apps',
    `query ($publisher: String, $after: String) {
      savedApps(first: 100, publisher: $publisher, after: $after) { nodes { ${app} } pageInfo { hasNextPage endCursor } }
    }`,
    {
      summary: 'Applications whose pubspec.lock you, or the publisher in `publisher`, saved, by name.',
      allNodes: 'savedApps',
      errorStatuses: [403, 404],
    },
  ),
  route('PUT /api/apps', `mutation ($input: SaveAppInput!) { saveApp(input: $input) { app { ${app} } } }`, {
    summary: 'Saves the pubspec.lock of an application by name, in place of the former file.',
    answer: 'saveApp.app',
    errorStatuses: [403, 404, 409],
  }),
  route(
    'GET /api/apps/:id',
    `query ($id: ID!) { savedApp(appId: $id) { ${app} check { packages ${locked} elsewhere otherSources } changed { name } } }`,
    {
      summary: 'A saved application: its packages compared with the latest versions, and which of them changed after it was saved.',
      answer: 'savedApp',
      ids: { id: 'SavedApp' },
      required: { savedApp: unknownApp },
      errorStatuses: [404],
    },
  ),
  route('DELETE /api/apps/:id', 'mutation ($id: ID!) { deleteApp(input: { appId: $id }) { deletedAppId } }', {
    ids: { id: 'SavedApp' },
    summary: 'Deletes a saved application.',
    answer: ok,
    errorStatuses: [404],
  }),
]
