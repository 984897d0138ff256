import { route } from '../../../platform/rest/route.ts'
import { ofPackage } from '../rest-answers.ts'

/** Routes for a package's publisher. */
export const packagePublisherRoutes = [
  route('GET /api/packages/:pkg/publisher', 'query ($pkg: String!) { package(name: $pkg) { publisher @flatten { publisherId: slug } } }', {
    summary: 'The publisher that owns a package.',
    answer: 'package',
    ...ofPackage,
  }),
  route(
    'PUT /api/packages/:pkg/publisher',
    'mutation ($input: SetPackagePublisherInput!) { setPackagePublisher(input: $input) { package { publisher @flatten { publisherId: slug } } } }',
    {
      summary: 'Transfers a package to a publisher, or removes it from its publisher.',
      names: { pkg: 'package', publisherId: 'publisher' },
      answer: 'setPackagePublisher.package',
    },
  ),
]
