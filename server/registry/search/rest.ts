import { z } from 'zod'
import { type Data, route } from '../../platform/rest/route.ts'

export const searchRoutes = [
  route(
    'GET /api/search',
    'query ($q: String, $sort: PackageSort, $offset: Int) { searchPackages(first: 50, query: $q, orderBy: $sort, offset: $offset) { edges { score node @flatten { package: name } } totalCount } }',
    {
      summary: 'Searches packages, best match first, 50 per page.',
      names: { q: 'query' },
      synonyms: {
        sort: { top: 'relevance', text: 'relevance', like: 'likes', points: 'score', popularity: 'downloads', trending: 'downloads' },
      },
      answer: { page: 'searchPackages', of: 'packages', next: { field: 'next' } },
    },
  ),
  route(
    'GET /api/search/symbols',
    'query ($q: String!, $offset: Int) { searchSymbols(first: 50, query: $q, offset: $offset) { nodes { name kind parent library version package @flatten { package: name } } totalCount } }',
    {
      summary: 'Searches the public APIs of the latest versions for types, functions and members, best match first, 50 per page.',
      names: { q: 'query' },
      answer: { page: 'searchSymbols', of: 'symbols', next: { field: 'next' } },
    },
  ),
  route('GET /api/topic-name-completion-data', '{ topics: completeSearch(query: "topic:", first: 100) { label count } }', {
    summary: 'The 100 most frequent topics with their number of packages, counted in up to 1,000 packages. For completion in editors.',
    answer: { from: countsByTopic, schema: z.record(z.string(), z.int()) },
  }),
]

function countsByTopic({ topics }: Data): unknown {
  return Object.fromEntries((topics as { label: string; count: number }[]).map(({ label, count }) => [label.slice('topic:'.length), count]))
}
