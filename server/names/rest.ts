import { z } from 'zod'
import { ok, route } from '../rest/route.ts'

const person = '{ userId: uuid email displayName }'

/** Routes for reserved and confusable names, for administrators. */
export const nameRoutes = [
  route(
    'GET /api/admin/reserved-names',
    `query ($q: String, $offset: Int) {
      reservedNames(first: 50, q: $q, offset: $offset) { nodes { name reservedAt reservedBy ${person} } totalCount }
    }`,
    {
      summary: 'The names of deleted packages, which nobody may publish under, fifty a page; `q` is a part of the name.',
      answer: { page: 'reservedNames', of: 'names' },
    },
  ),
  route('DELETE /api/admin/reserved-names/:pkg', 'mutation ($pkg: String!) { freeName(input: { package: $pkg }) }', {
    summary: 'Frees and approves the name of a deleted package, so that anybody may publish under it.',
    answer: ok,
  }),
  route(
    'GET /api/admin/confusable-names',
    `query ($q: String, $offset: Int) {
      confusableNames(first: 50, q: $q, offset: $offset) { nodes { name similarNames noticedAt requestedBy ${person} isPublished: package { name } } totalCount }
    }`,
    {
      summary: 'The names that could be confused with others and are not approved yet, fifty a page; `q` is a part of the name.',
      answer: { page: 'confusableNames', of: 'names' },
      changes: { 'confusableNames.nodes.isPublished': { from: (pkg) => pkg !== null, schema: z.boolean() } },
    },
  ),
  route('PUT /api/admin/confusable-names/:pkg', 'mutation ($pkg: String!) { approveName(input: { package: $pkg }) }', {
    summary: 'Approves a name, also before anybody asks: whoever waits for it may publish.',
    answer: ok,
  }),
  route('DELETE /api/admin/confusable-names/:pkg', 'mutation ($pkg: String!) { rejectName(input: { package: $pkg }) }', {
    summary: 'Takes back a request to publish under a name, or the approval of a name that no package has.',
    answer: ok,
  }),
]
