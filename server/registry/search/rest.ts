import { route } from '../../platform/rest/route.ts'

export const searchRoutes = [
  route(
    'GET /api/search',
    'query ($q: String, $sort: PackageSort, $offset: Int) { searchPackages(first: 50, query: $q, sort: $sort, offset: $offset) { edges { score node @flatten { package: name } } totalCount } }',
    {
      summary: 'Searches packages, best match first, 50 per page.',
      names: { q: 'query' },
      synonyms: {
        sort: { top: 'relevance', text: 'relevance', like: 'likes', points: 'score', popularity: 'downloads', trending: 'downloads' },
      },
      answer: { page: 'searchPackages', of: 'packages', next: { field: 'next' } },
    },
  ),
]
