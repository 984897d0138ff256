import { packageOf } from '../packages/rest-answers.ts'
import { nobody } from '../access/refusal.ts'
import { type Data, route } from '../rest/route.ts'

type Weeks = { start: string; downloads: number }[]

export const downloadRoutes = [
  route(
    'GET /api/packages/:pkg/downloads',
    'query ($pkg: String!) { package(name: $pkg) { name downloads { last30Days weeks { start downloads } versions { version last30Days weeks } } } }',
    {
      summary: 'Downloads of the last thirty days, and of each of the last 52 weeks, the oldest first, with those of each version.',
      answer: {
        from: (data, context) => {
          const { name, downloads } = packageOf(data, context)
          // How often something is used is for members.
          if (downloads === null) throw nobody(context)
          const { last30Days, weeks, versions } = downloads as { last30Days: number; weeks: Weeks; versions: Data[] }
          return {
            package: name,
            downloads30d: last30Days,
            weeks: weeks.map(({ start, downloads: count }) => ({ start, downloads: count })),
            versions: versions.map(({ version, last30Days: recent, weeks: counts }) => ({ version, downloads30d: recent, weeks: counts })),
          }
        },
      },
    },
  ),
]
