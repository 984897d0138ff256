import { ok, route } from '../rest/route.ts'

/** What server administrators do with packages (interface §4.8). */
export const packageAdminRoutes = [
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
