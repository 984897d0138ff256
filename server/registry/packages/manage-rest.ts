import { z } from 'zod'
import { agent, agentSchema, nextBefore } from '../../accounts/audit/refs.ts'
import { csv, exportedAs } from '../../platform/rest/export.ts'
import { type Data, route, ok } from '../../platform/rest/route.ts'
import { packageList } from './administration/export-rest.ts'
import { ofPackage, ofVersion } from './parameters.ts'

const names = { pkg: 'package' }
const optionFields = 'isDiscontinued replacedBy isUnlisted'
const uploaderFields = 'uploaders { userId: uuid email displayName }'

const activityPage = z.object({
  entries: z.array(
    z.object({
      id: z.uuid(),
      createdAt: z.iso.datetime(),
      kind: z.string(),
      summary: z.string(),
      version: z.string().nullable(),
      agent: agentSchema,
    }),
  ),
  nextBefore,
})

export const manageRoutes = [
  route('GET /api/packages/:pkg/options', `query ($pkg: String!) { package(name: $pkg) { ${optionFields} } }`, {
    summary: 'Options of a package: whether it is discontinued, its replacement, and whether it is unlisted.',
    answer: 'package',
    ...ofPackage,
  }),
  route(
    'PUT /api/packages/:pkg/options',
    `mutation ($input: UpdatePackageOptionsInput!) { updatePackageOptions(input: $input) { package { ${optionFields} } } }`,
    { summary: 'Changes options of a package. Omitted options keep their values.', names, answer: 'updatePackageOptions.package' },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/options',
    'query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { isRetracted retractedAt } } }',
    { summary: 'Whether a version is retracted, and since when.', answer: 'package.version', ...ofVersion },
  ),
  route(
    'PUT /api/packages/:pkg/versions/:version/options',
    'mutation ($input: UpdateVersionOptionsInput!) { updateVersionOptions(input: $input) { version { isRetracted retractedAt } } }',
    { summary: 'Retracts or restores a version.', names, answer: 'updateVersionOptions.version' },
  ),
  route('GET /api/packages/:pkg/uploaders', `query ($pkg: String!) { package(name: $pkg) { ${uploaderFields} } }`, {
    summary: 'Uploaders of a package.',
    answer: 'package',
    ...ofPackage,
  }),
  route(
    'PUT /api/packages/:pkg/uploaders/:email',
    `mutation ($input: AddUploaderInput!) { addUploader(input: $input) { package { ${uploaderFields} } } }`,
    { summary: 'Adds a user to the uploaders of a package.', names, answer: 'addUploader.package', errorStatuses: [429] },
  ),
  route(
    'DELETE /api/packages/:pkg/uploaders/:email',
    `mutation ($input: RemoveUploaderInput!) { removeUploader(input: $input) { package { ${uploaderFields} } } }`,
    {
      summary: 'Removes an uploader. The last uploader of a package without a publisher cannot be removed.',
      names,
      answer: 'removeUploader.package',
    },
  ),
  route(
    'GET /api/packages/:pkg/permissions',
    'query ($pkg: String!) { package(name: $pkg) { canPublish: viewerCanPublish canAdminister: viewerCanAdminister } }',
    { summary: 'Your permissions for a package.', answer: 'package', ...ofPackage },
  ),
  route(
    'GET /api/packages/:pkg/activity-log',
    'query ($pkg: String!, $before: ID) { package(name: $pkg) { activity(first: 50, olderThan: $before) { nodes { id: uuid createdAt kind summary version actorId actor { userId: uuid displayName email } } pageInfo { hasNextPage } } } }',
    {
      summary: 'Activity log of a package, newest first, 50 entries per page. Requires permission to administer the package.',
      names: { before: 'olderThan' },
      answer: { from: activity, schema: activityPage },
      ...ofPackage,
    },
  ),
]

type Entry = Data & { id: string; actorId: string | null; actor: Parameters<typeof agent>[1] }

function activity(data: Data) {
  const { nodes, pageInfo } = (data.package as Data).activity as { nodes: Entry[]; pageInfo: { hasNextPage: boolean } }
  const entries = nodes.map(({ actorId, actor, ...entry }) => ({ ...entry, agent: agent(actorId, actor) }))
  return { entries, nextBefore: pageInfo.hasNextPage ? (nodes.at(-1)?.id ?? null) : null }
}

const person = z.object({ userId: z.uuid(), email: z.string(), displayName: z.string() })

const managedPackage = z.object({
  name: z.string(),
  latestVersion: z.string().nullable(),
  visibility: z.enum(['private', 'public']),
  isUnlisted: z.boolean(),
  isDiscontinued: z.boolean(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  downloads30d: z.int().nullable(),
  versionCount: z.int(),
  archiveBytes: z.int(),
  owners: z.object({ publisherId: z.string().nullable(), uploaders: z.array(person) }),
})

export const packageAdminRoutes = [
  route(
    'GET /api/admin/packages',
    `query ($q: String, $visibility: Visibility, $isDiscontinued: Boolean, $hasOwner: Boolean, $isAnalyzed: Boolean, $orderBy: ManagedPackageOrder, $direction: OrderDirection, $offset: Int) {
      managedPackages(first: 50, query: $q, visibility: $visibility, isDiscontinued: $isDiscontinued, hasOwner: $hasOwner, isAnalyzed: $isAnalyzed, orderBy: $orderBy, direction: $direction, offset: $offset) {
        nodes {
          versionCount archiveBytes publisherId
          package @flatten {
            name latest @flatten { latestVersion: version } visibility isUnlisted isDiscontinued createdAt updatedAt
            downloads @flatten { downloads30d: last30Days } uploaders { userId: uuid email displayName }
          }
        }
        totalCount
      }
    }`,
    {
      names: { q: 'query' },
      summary:
        'All packages by name, with versions, size, downloads in the last 30 days and owners, 50 per page. `q` is part of the name. With `Accept: text/csv`, all of them as a file.',
      answer: {
        page: 'managedPackages',
        of: 'packages',
        each: ({ publisherId, uploaders, ...rest }) => ({ ...rest, owners: { publisherId, uploaders } }),
        schema: managedPackage,
      },
      alternatives: [exportedAs(csv, packageList)],
    },
  ),
  route(
    'DELETE /api/admin/packages/:pkg',
    `mutation ($pkg: String!, $acceptBreakage: Boolean, $freeName: Boolean) {
      deletePackage(input: { package: $pkg, acceptBreakage: $acceptBreakage, freeName: $freeName }) { deletedPackageId }
    }`,
    {
      summary:
        'Deletes a package. Answers 409 with the dependency chains while public packages depend on it, unless `acceptBreakage=true`. Reserves the name, unless `freeName=true`.',
      answer: ok,
    },
  ),
  route(
    'DELETE /api/admin/packages/:pkg/versions/:version',
    `mutation ($pkg: String!, $version: SemVer!, $acceptBreakage: Boolean, $freeName: Boolean) {
      deleteVersion(input: { package: $pkg, version: $version, acceptBreakage: $acceptBreakage, freeName: $freeName }) { deletedVersionId }
    }`,
    {
      summary:
        'Deletes a version; deleting the last version deletes the package. Answers 409 if public packages would break, unless `acceptBreakage=true`. `freeName` as for a package.',
      answer: ok,
    },
  ),
]
