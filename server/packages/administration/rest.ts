import { z } from 'zod'
import { ok, route } from '../../rest/route.ts'

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
      summary:
        'All packages by name, with versions, bytes, downloads of the last thirty days and owners, fifty a page; `q` is a part of the name.',
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
      summary: 'Deletes a package. While public packages depend on it, it is 409 with their chains, unless `acceptBreakage=true`.',
      answer: ok,
    },
  ),
  route(
    'DELETE /api/admin/packages/:pkg/versions/:version',
    `mutation ($pkg: String!, $version: SemVer!, $acceptBreakage: Boolean) {
      deleteVersion(input: { package: $pkg, version: $version, acceptBreakage: $acceptBreakage })
    }`,
    {
      summary: 'Deletes a version, and with the last one the package. 409 likewise, when no other version would serve public packages.',
      answer: ok,
    },
  ),
]
