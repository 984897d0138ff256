import { route } from '../rest/route.ts'
import { packageBinaries } from './binary.ts'

/** Packages for package clients and scripts. */
export const packageRoutes = [
  ...packageBinaries,
  route('GET /api/packages', 'query ($offset: Int) { packages(first: 50, offset: $offset) { nodes { name description latest { version publishedAt } updatedAt } totalCount } }', {
    summary: 'All packages by name, fifty a page.',
    answer: { page: 'packages', of: 'packages' },
  }),
  route('GET /api/package-names', '{ packages: packageNames }', { summary: 'The names of all packages.' }),
  route('GET /api/package-name-completion-data', '{ packages: packageNames }', { summary: 'The names of all packages, for editors that complete them.' }),
]
