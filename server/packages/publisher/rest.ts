import { type Data, route } from '../../rest/route.ts'
import { packageOf } from '../rest-answers.ts'

/** Who owns a package. */
export const packagePublisherRoutes = [
  route('GET /api/packages/:pkg/publisher', 'query ($pkg: String!) { package(name: $pkg) { publisher { slug } } }', {
    summary: 'The publisher that owns a package.',
    answer: { from: (data, context) => ownerIn(packageOf(data, context)) },
  }),
  route(
    'PUT /api/packages/:pkg/publisher',
    'mutation ($input: SetPackagePublisherInput!) { setPackagePublisher(input: $input) { package { publisher { slug } } } }',
    {
      summary: 'Gives a package to a publisher, or to none.',
      names: { pkg: 'package', publisherId: 'publisher' },
      answer: { from: ({ setPackagePublisher }) => ownerIn((setPackagePublisher as { package: Data }).package) },
    },
  ),
]

const ownerIn = ({ publisher }: Data): Data => ({ publisherId: (publisher as { slug: string } | null)?.slug ?? null })
