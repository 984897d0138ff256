import { packageOf } from '../packages/rest-answers.ts'
import { type Data, ok, route } from '../rest/route.ts'

type Like = { package: { name: string }; likedAt: string }

const likedPackage = ({ package: { name }, likedAt }: Like) => ({ package: name, liked: true, created: likedAt })

/** The answers look as on pub.dev. */
export const likeRoutes = [
  route(
    'GET /api/account/likes',
    'query ($after: String) { likedPackages(first: 100, after: $after) { nodes { package { name } likedAt } pageInfo { hasNextPage endCursor } } }',
    {
      summary: 'The packages that you like, by name.',
      whole: 'likedPackages',
      answer: { from: ({ likedPackages }) => ({ likedPackages: (likedPackages as { nodes: Like[] }).nodes.map(likedPackage) }) },
    },
  ),
  route('PUT /api/account/likes/:pkg', 'mutation ($input: LikePackageInput!) { likePackage(input: $input) { package { name } } }', {
    summary: 'Likes a package; again changes nothing.',
    names: { pkg: 'package' },
    answer: { from: ({ likePackage }) => ({ package: ((likePackage as Data).package as Data).name, liked: true }) },
  }),
  route('DELETE /api/account/likes/:pkg', 'mutation ($input: LikePackageInput!) { unlikePackage(input: $input) { package { name } } }', {
    summary: 'Likes a package no longer; again changes nothing.',
    names: { pkg: 'package' },
    answer: ok,
  }),
  route('GET /api/packages/:pkg/likes', 'query ($pkg: String!) { package(name: $pkg) { name likeCount } }', {
    summary: 'How many people like a package.',
    answer: {
      from: (data, context) => {
        const { name, likeCount } = packageOf(data, context)
        return { package: name, likes: likeCount }
      },
    },
  }),
]
