import { z } from 'zod'
import { ofPackage } from '../packages/parameters.ts'
import { route } from '../../platform/rest/route.ts'

const status = '{ permittedByEnvironment enabled requiresServerAdmin totalPackages publicPackages }'
const state = '{ visibility permittedByEnvironment enabled requiresServerAdmin viewerCanChange }'
const preview = '{ visibility closure { package @flatten { name } chain @flatten { chain: names } viewerCanAdminister } breaks { names } }'

export const visibilityRoutes = [
  route('GET /api/admin/public-packages', `{ publicPackages ${status} }`, {
    summary: 'Settings for public packages on this server, and the number of public packages.',
    answer: 'publicPackages',
  }),
  route(
    'PUT /api/admin/public-packages',
    `mutation ($input: UpdatePublicPackagesInput!) { updatePublicPackages(input: $input) { publicPackages ${status} } }`,
    { summary: 'Enables or disables reading without signing in for the whole server.', answer: 'updatePublicPackages.publicPackages' },
  ),
  route('GET /api/packages/:pkg/visibility', `query ($pkg: String!) { package(name: $pkg) { visibilityState ${state} } }`, {
    summary: 'Visibility of a package, and the settings that determine it.',
    answer: 'package.visibilityState',
    ...ofPackage,
  }),
  route(
    'PUT /api/packages/:pkg/visibility',
    `mutation ($input: ChangeVisibilityInput!) { changeVisibility(input: $input) { changed package @flatten { visibilityState @flatten ${state} } } }`,
    {
      summary: 'Makes a package public, together with its private dependencies (`closure`), or private.',
      names: { pkg: 'package' },
      answer: 'changeVisibility',
    },
  ),
  route(
    'POST /api/packages/:pkg/visibility/preview',
    `query ($pkg: String!, $input: PreviewVisibilityInput!) { package(name: $pkg) { visibilityPreview(input: $input) ${preview} } }`,
    {
      summary: 'Previews a change of visibility: private dependencies that would become public, or public packages that would break.',
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
