import { z } from 'zod'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { type Data, route } from '../../platform/rest/route.ts'
import { manageRoutes } from './manage-rest.ts'
import { ofPackage, ofVersion } from './parameters.ts'

const documentFields = '{ path source html }'

const osvList = z.object({
  advisories: z.array(z.looseObject({ id: z.string() })).describe('Advisories in the Open Source Vulnerability format.'),
  advisoriesUpdated: z.iso.datetime().describe('When the advisories last changed, or when the package did if it never had any.'),
})

export const packageRoutes = [
  ...manageRoutes,
  route(
    'GET /api/packages',
    `query ($offset: Int) { packages(first: 50, offset: $offset) {
      nodes { name description latest { version publishedAt pubspec archive_url: archiveUrl } updatedAt } totalCount
    } }`,
    {
      summary: 'All packages by name, 50 per page, with the pubspec of the latest version.',
      changes: { 'packages.nodes.latest.pubspec': { from: (text) => JSON.parse(String(text)) as unknown, schema: z.looseObject({}) } },
      answer: { page: 'packages', of: 'packages', next: { field: 'next_url', isNullable: true } },
    },
  ),
  route('GET /packages.json', 'query ($offset: Int) { packages(first: 50, offset: $offset) { nodes { name } totalCount } }', {
    summary: 'URLs of the version lists of all packages, by name, 50 per page.',
    answer: { page: 'packages', of: 'packages', each: versionsUrl, schema: z.url(), next: { field: 'next', isNullable: true } },
  }),
  route(
    'GET /packages/:pkg.json',
    'query ($pkg: String!, $after: String) { package(name: $pkg) { name versions(first: 100, after: $after) { nodes { version } pageInfo { hasNextPage endCursor } } } }',
    {
      summary: 'Version numbers of a package, highest first.',
      allNodes: 'package.versions',
      answer: { from: versionListOf, schema: z.object({ name: z.string(), versions: z.array(z.string()) }) },
      ...ofPackage,
    },
  ),
  route('GET /api/package-names', '{ packages: packageNames(withUnlisted: true) }', {
    summary: 'Names of all packages, including unlisted ones. For mirrors.',
  }),
  route('GET /api/package-name-completion-data', '{ packages: packageNames }', {
    summary: 'Names of the listed packages, for completion in editors.',
  }),
  route(
    'GET /api/packages/:pkg/advisories',
    'query ($pkg: String!) { package(name: $pkg) { updatedAt advisoriesUpdated advisories { osv } } }',
    {
      summary:
        'Security advisories in OSV format, with every affected version listed. Clients read them if the listing has `advisoriesUpdated`.',
      pub: true,
      answer: { from: advisoriesOf, schema: osvList },
      ...ofPackage,
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/content',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { readme ${documentFields} changelog ${documentFields} license ${documentFields} example ${documentFields} } } }`,
    {
      summary: 'README, changelog, license and example of a version, as source and as sanitized HTML.',
      answer: 'package.version',
      ...ofVersion,
    },
  ),
  route(
    'GET /api/packages/:pkg/dependents',
    'query ($pkg: String!, $offset: Int) { package(name: $pkg) { dependents(first: 50, offset: $offset) { nodes { package @flatten { package: name } version constraint kind isBare } totalCount } } }',
    {
      summary:
        'Packages whose latest version depends on this one, by name, 50 per page. `isBare`: names no registry, so clients use pub.dev.',
      answer: { page: 'package.dependents', of: 'dependents' },
      ...ofPackage,
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/dependencies',
    'query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { dependencies { name constraint kind source hostedUrl sdk isHostedHere isBare servedBy } } } }',
    {
      summary:
        'Dependencies of a version, followed by its dev dependencies. `isBare`: names no registry although the package is hosted here, so clients use pub.dev.',
      answer: 'package.version',
      ...ofVersion,
    },
  ),
  route('GET /api/packages/:pkg/publisher', 'query ($pkg: String!) { package(name: $pkg) { publisher @flatten { publisherId: slug } } }', {
    summary: 'The publisher that owns a package.',
    answer: 'package',
    ...ofPackage,
  }),
  route(
    'PUT /api/packages/:pkg/publisher',
    'mutation ($input: SetPackagePublisherInput!) { setPackagePublisher(input: $input) { package { publisher @flatten { publisherId: slug } } } }',
    {
      summary: 'Transfers a package to a publisher, or removes it from its publisher.',
      names: { pkg: 'package', publisherId: 'publisher' },
      answer: 'setPackagePublisher.package',
    },
  ),
]

function advisoriesOf(data: Data): unknown {
  const { advisories, advisoriesUpdated, updatedAt } = data.package as Data & { advisories: { osv: string }[] }
  return { advisories: advisories.map(({ osv }) => JSON.parse(osv) as unknown), advisoriesUpdated: advisoriesUpdated ?? updatedAt }
}

function versionsUrl({ name }: Data, { request, config }: Context): string {
  return `${publicUrl(request, config.SERVER_URL)}/packages/${String(name)}.json`
}

function versionListOf(data: Data): unknown {
  const { name, versions } = data.package as { name: string; versions: { version: string }[] }
  return { name, versions: versions.map(({ version }) => version) }
}
