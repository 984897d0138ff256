import { type Data, ok, route } from '../../rest/route.ts'

/** What server administrators do with packages. */
export const packageAdminRoutes = [
  route(
    'GET /api/admin/packages',
    `query ($q: String, $offset: Int) {
      managedPackages(first: 50, q: $q, offset: $offset) {
        nodes {
          versionCount archiveBytes publisherId
          package {
            name latest { version } visibility isUnlisted isDiscontinued createdAt updatedAt downloads { last30Days }
            uploaders { userId: uuid email displayName }
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
        each: (node) => {
          const { package: pkg, publisherId, ...sums } = node as Data
          const { latest, uploaders, visibility, downloads, ...rest } = (pkg ?? {}) as Data
          const latestVersion = (latest as Data | null)?.version ?? null
          const downloads30d = (downloads as Data | null)?.last30Days ?? 0
          return {
            ...rest,
            latestVersion,
            visibility: String(visibility).toLowerCase(),
            ...sums,
            downloads30d,
            owners: { publisherId, uploaders },
          }
        },
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
