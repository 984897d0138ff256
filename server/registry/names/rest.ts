import { z } from 'zod'
import { ok, route } from '../../platform/rest/route.ts'

const person = '{ userId: uuid email displayName }'

export const nameRoutes = [
  route(
    'GET /api/admin/reserved-names',
    `query ($q: String, $offset: Int) { reservedNames(first: 50, query: $q, offset: $offset) { nodes { name reservedAt isUpstream reservedBy ${person} } totalCount }
    }`,
    {
      summary: 'Reserved names of deleted packages, 50 per page. `q` is part of the name.',
      names: { q: 'query' },
      answer: { page: 'reservedNames', of: 'names' },
    },
  ),
  route('DELETE /api/admin/reserved-names/:pkg', 'mutation ($pkg: String!) { freeName(input: { package: $pkg }) { name } }', {
    summary: 'Frees the name of a deleted package, so that it can be used again, and approves it in spite of similar names.',
    answer: ok,
  }),
  route(
    'GET /api/admin/confusable-names',
    `query ($q: String, $offset: Int) {
      confusableNames(first: 50, query: $q, offset: $offset) { nodes { name similarNames isUpstream upstreamReason noticedAt requestedBy ${person} isPublished: package { name } } totalCount }
    }`,
    {
      summary: 'Unapproved names that could be confused with others or that the mirrored server has, 50 per page. `q` is part of the name.',
      names: { q: 'query' },
      answer: { page: 'confusableNames', of: 'names' },
      changes: { 'confusableNames.nodes.isPublished': { from: (pkg) => pkg !== null, schema: z.boolean() } },
    },
  ),
  route('PUT /api/admin/confusable-names/:pkg', 'mutation ($pkg: String!) { approveName(input: { package: $pkg }) { name } }', {
    summary: 'Approves a name that is confusable or that the mirrored server has, whether or not it has been requested.',
    answer: ok,
  }),
  route('DELETE /api/admin/confusable-names/:pkg', 'mutation ($pkg: String!) { rejectName(input: { package: $pkg }) { name } }', {
    summary: 'Rejects the request for a name, or revokes its approval, while no package has the name.',
    answer: ok,
  }),
]
