import { packageOf } from '../packages/rest-answers.ts'
import { type Data, route } from '../rest/route.ts'

const status = '{ permittedByEnvironment enabled requiresServerAdmin totalPackages publicPackages }'
const state = '{ visibility permittedByEnvironment enabled requiresServerAdmin viewerCanChange }'
const preview = '{ visibility closure { package { name } chain { names } viewerCanAdminister } breaks { names } }'

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
    answer: { from: (data, context) => stateOf(packageOf(data, context)) },
  }),
  route(
    'PUT /api/packages/:pkg/visibility',
    `mutation ($input: ChangeVisibilityInput!) { changeVisibility(input: $input) { changed package { visibilityState ${state} } } }`,
    {
      summary: 'Makes a package public, together with the private packages it needs (`closure`), or private.',
      names: { pkg: 'package' },
      answer: {
        from: ({ changeVisibility }) => {
          const { changed, package: pkg } = changeVisibility as { changed: string[]; package: Data }
          return { ...stateOf(pkg), changed }
        },
      },
    },
  ),
  route(
    'POST /api/packages/:pkg/visibility/preview',
    `query ($pkg: String!, $input: PreviewVisibilityInput!) { package(name: $pkg) { visibilityPreview(input: $input) ${preview} } }`,
    {
      summary: 'What a change of visibility would take along, or break.',
      answer: { from: (data, context) => previewOf(packageOf(data, context).visibilityPreview as Preview) },
    },
  ),
]

type Chain = { names: string[] }
type Preview = {
  visibility: string
  closure: { package: { name: string }; chain: Chain; viewerCanAdminister: boolean }[]
  breaks: Chain[]
}

function stateOf({ visibilityState }: Data) {
  const { visibility, ...rest } = visibilityState as { visibility: string }
  return { visibility: visibility.toLowerCase(), ...rest }
}

function previewOf({ visibility, closure, breaks }: Preview) {
  return {
    visibility: visibility.toLowerCase(),
    closure: closure.map(({ package: { name }, chain, viewerCanAdminister }) => ({ name, chain: chain.names, viewerCanAdminister })),
    breaks: breaks.map(({ names }) => names),
  }
}
