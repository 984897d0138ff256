import { ofPackage } from '../packages/parameters.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { ok, route } from '../../platform/rest/route.ts'

const liked = 'package @flatten { package: name liked: viewerHasLiked }'

/** Routes for likes. Responses have the same format as on pub.dev. */
export const likeRoutes = [
  route(
    'GET /api/account/likes',
    `query ($after: String) {
      likedPackages(first: 100, after: $after) { nodes { ${liked} created: likedAt } pageInfo { hasNextPage endCursor } }
    }`,
    {
      summary: 'Packages that you like, by name.',
      allNodes: 'likedPackages',
    },
  ),
  route(
    'GET /api/account/likes/:pkg',
    'query ($pkg: String!) { viewer { id } package(name: $pkg) { package: name liked: viewerHasLiked } }',
    {
      summary: 'Whether you like a package.',
      answer: 'package',
      required: { viewer: unauthenticated, ...ofPackage.required },
    },
  ),
  route('PUT /api/account/likes/:pkg', `mutation ($input: LikePackageInput!) { likePackage(input: $input) { ${liked} } }`, {
    summary: 'Likes a package. Repeating it changes nothing.',
    names: { pkg: 'package' },
    answer: 'likePackage',
  }),
  route('DELETE /api/account/likes/:pkg', 'mutation ($input: LikePackageInput!) { unlikePackage(input: $input) { package { name } } }', {
    summary: 'Removes your like of a package. Repeating it changes nothing.',
    names: { pkg: 'package' },
    answer: ok,
  }),
  route('GET /api/packages/:pkg/likes', 'query ($pkg: String!) { package(name: $pkg) { package: name likes: likeCount } }', {
    summary: 'Number of likes of a package.',
    answer: 'package',
    ...ofPackage,
  }),
]
