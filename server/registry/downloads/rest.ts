import { ofPackage } from '../packages/parameters.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { route } from '../../platform/rest/route.ts'

export const downloadRoutes = [
  route(
    'GET /api/packages/:pkg/downloads',
    `query ($pkg: String!) {
      package(name: $pkg) {
        package: name
        downloads @flatten { downloads30d: last30Days weeks { start downloads } versions { version downloads30d: last30Days weeks } }
      }
    }`,
    {
      summary: 'Downloads in the last 30 days and in each of the last 52 weeks, oldest first, in total and by version.',
      answer: 'package',
      // Download counts require signing in.
      required: { ...ofPackage.required, 'package.downloads': unauthenticated },
    },
  ),
]
