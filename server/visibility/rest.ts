import { z } from 'zod'
import { ofPackage } from '../packages/rest-answers.ts'
import { route } from '../rest/route.ts'

const status = '{ permittedByEnvironment enabled requiresServerAdmin totalPackages publicPackages }'
const state = '{ visibility permittedByEnvironment enabled requiresServerAdmin viewerCanChange }'
const preview = '{ visibility closure { package @flatten { name } chain @flatten { chain: names } viewerCanAdminister } breaks { names } }'

export const visibilityRoutes = [
  route('GET /api/admin/public-packages', `{ publicPackages ${status} }`, {
    summary: 'The state of public packages on this server.',
    answer: 'publicPackages',
  }),
  route(
    'PUT /api/admin/public-packages',
    `mutation ($input: UpdatePublicPackagesInput!) { updatePublicPackages(input: $input) { publicPackages ${status} } }`,
    {
      summary: 'Turns reading without signing in on or off for the whole server.',
      answer: 'updatePublicPackages.publicPackages',
    },
  ),
  route('GET /api/packages/:pkg/visibility', `query ($pkg: String!) { package(name: $pkg) { visibilityState ${state} } }`, {
    summary: 'Who can read a package, and why.',
    answer: 'package.visibilityState',
    ...ofPackage,
  }),
  route(
    'PUT /api/packages/:pkg/visibility',
    `mutation ($input: ChangeVisibilityInput!) { changeVisibility(input: $input) { changed package @flatten { visibilityState @flatten ${state} } } }`,
    {
      summary: 'Makes a package public, together with the private packages it needs (`closure`), or private.',
      names: { pkg: 'package' },
      answer: 'changeVisibility',
    },
  ),
  route(
    'POST /api/packages/:pkg/visibility/preview',
    `query ($pkg: String!, $input: PreviewVisibilityInput!) { package(name: $pkg) { visibilityPreview(input: $input) ${preview} } }`,
    {
      summary: 'What a change of visibility would take along, or break.',
      answer: 'package.visibilityPreview',
      changes: {
        'package.visibilityPreview.breaks': {
          from: (chains) => (chains as { names: string[] }[]).map(({ names }) => names),
          schema: z.array(z.array(z.string())),
        },
      },
      ...ofPackage,
    },
  ),
]
