import { z } from 'zod'
import { ok, route } from '../../../platform/rest/route.ts'

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

/** Package routes for server administrators. */
export const packageAdminRoutes = [
  route(
    'GET /api/admin/packages',
    `query ($q: String, $offset: Int) {
      managedPackages(first: 50, q: $q, offset: $offset) {
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
      summary: 'All packages by name, with versions, size, downloads in the last 30 days and owners, 50 per page. `q` is part of the name.',
      answer: {
        page: 'managedPackages',
        of: 'packages',
        each: ({ publisherId, uploaders, ...rest }) => ({ ...rest, owners: { publisherId, uploaders } }),
        schema: managedPackage,
      },
    },
  ),
  route(
    'DELETE /api/admin/packages/:pkg',
    'mutation ($pkg: String!, $acceptBreakage: Boolean) { deletePackage(input: { package: $pkg, acceptBreakage: $acceptBreakage }) }',
    {
      summary:
        'Deletes a package. Answers 409 with the dependency chains while public packages depend on it, unless `acceptBreakage=true`.',
      answer: ok,
    },
  ),
  route(
    'DELETE /api/admin/packages/:pkg/versions/:version',
    `mutation ($pkg: String!, $version: SemVer!, $acceptBreakage: Boolean) {
      deleteVersion(input: { package: $pkg, version: $version, acceptBreakage: $acceptBreakage })
    }`,
    {
      summary:
        'Deletes a version; deleting the last version deletes the package. Answers 409 if public packages would break, unless `acceptBreakage=true`.',
      answer: ok,
    },
  ),
]
