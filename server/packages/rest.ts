import { z } from 'zod'
import { type Data, route } from '../rest/route.ts'
import { manageRoutes } from './manage-rest.ts'
import { ofPackage, ofVersion } from './rest-answers.ts'

const documentFields = '{ path source html }'

const osvList = z.object({
  advisories: z.array(z.looseObject({ id: z.string() })).describe('Advisories in the Open Source Vulnerability format.'),
  advisoriesUpdated: z.iso.datetime().describe('When they last changed; when the package did, if they never changed.'),
})

/** Package routes for package clients and scripts. */
export const packageRoutes = [
  ...manageRoutes,
  route(
    'GET /api/packages',
    'query ($offset: Int) { packages(first: 50, offset: $offset) { nodes { name description latest { version publishedAt } updatedAt } totalCount } }',
    {
      summary: 'All packages by name, fifty a page.',
      answer: { page: 'packages', of: 'packages' },
    },
  ),
  route('GET /api/package-names', '{ packages: packageNames(withUnlisted: true) }', {
    summary: 'The names of all packages, also of unlisted ones: for mirrors.',
  }),
  route('GET /api/package-name-completion-data', '{ packages: packageNames }', {
    summary: 'The names of the listed packages, for editors that complete them.',
  }),
  route(
    'GET /api/packages/:pkg/advisories',
    'query ($pkg: String!) { package(name: $pkg) { updatedAt advisoriesUpdated advisories { osv } } }',
    {
      summary:
        'Security advisories in OSV form, with every affected version listed. Asked by clients when the listing has `advisoriesUpdated`.',
      pub: true,
      answer: { from: advisoriesOf, schema: osvList },
      ...ofPackage,
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/content',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { readme ${documentFields} changelog ${documentFields} license ${documentFields} example ${documentFields} } } }`,
    {
      summary: 'The texts of a version, as written and as HTML that is safe to show.',
      answer: 'package.version',
      ...ofVersion,
    },
  ),
  route(
    'GET /api/packages/:pkg/dependents',
    'query ($pkg: String!, $offset: Int) { package(name: $pkg) { dependents(first: 50, offset: $offset) { nodes { package @flatten { package: name } version constraint kind isBare } totalCount } } }',
    {
      summary:
        'The packages of this server whose latest version depends on this one, by name, fifty a page. `isBare` ones name no registry: clients ask pub.dev for it.',
      answer: { page: 'package.dependents', of: 'dependents' },
      ...ofPackage,
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/dependencies',
    'query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { dependencies { name constraint kind source hostedUrl sdk isHostedHere isBare servedBy } } } }',
    {
      summary:
        'What a version depends on: for its users first, then for its own development. `isBare`: it names no registry, so clients ask pub.dev for what is here.',
      answer: 'package.version',
      ...ofVersion,
    },
  ),
]

function advisoriesOf(data: Data): unknown {
  const { advisories, advisoriesUpdated, updatedAt } = data.package as Data & { advisories: { osv: string }[] }
  return { advisories: advisories.map(({ osv }) => JSON.parse(osv) as unknown), advisoriesUpdated: advisoriesUpdated ?? updatedAt }
}
