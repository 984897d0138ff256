import type { Context } from '../context.ts'
import { type Data, route } from '../rest/route.ts'
import { packageBinaries } from './binary.ts'
import { packageParameter, unknownPackage, unknownVersion, versionParameter } from './parameters.ts'

const documentFields = '{ path source html }'

/** Packages for package clients and scripts. */
export const packageRoutes = [
  ...packageBinaries,
  route(
    'GET /api/packages',
    'query ($offset: Int) { packages(first: 50, offset: $offset) { nodes { name description latest { version publishedAt } updatedAt } totalCount } }',
    {
      summary: 'All packages by name, fifty a page.',
      answer: { page: 'packages', of: 'packages' },
    },
  ),
  route('GET /api/package-names', '{ packages: packageNames }', { summary: 'The names of all packages.' }),
  route('GET /api/package-name-completion-data', '{ packages: packageNames }', {
    summary: 'The names of all packages, for editors that complete them.',
  }),
  route('GET /api/packages/:pkg/advisories', 'query ($pkg: String!) { package(name: $pkg) { updatedAt } }', {
    summary: 'Security advisories in OSV form. None are kept yet, and no listing announces any.',
    pub: true,
    answer: { from: (data, context) => ({ advisories: [], advisoriesUpdated: packageOf(data, context).updatedAt }) },
  }),
  route(
    'GET /api/packages/:pkg/uploaders',
    'query ($pkg: String!) { package(name: $pkg) { uploaders { userId: uuid email displayName } } }',
    {
      summary: 'The people who are named as having write access.',
      answer: { from: (data, context) => packageOf(data, context) },
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/content',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { readme ${documentFields} changelog ${documentFields} license ${documentFields} example ${documentFields} } } }`,
    { summary: 'The texts of a version, as written and as HTML that is safe to show.', answer: { from: versionOf } },
  ),
]

/** The package that the path names; 400 for what is no name, 404 for what is not there. */
function packageOf(data: Data, { request }: Context): Data {
  const name = packageParameter(request)
  if (!data.package) throw unknownPackage(name)
  return data.package as Data
}

function versionOf(data: Data, context: Context): Data {
  const { version } = packageOf(data, context)
  if (!version) throw unknownVersion(packageParameter(context.request), versionParameter(context.request))
  return version as Data
}
