import { ofDisplayedVersion, ofVersion } from '../../registry/packages/rest-answers.ts'
import { route } from '../../platform/rest/route.ts'

/** The response of pub.dev, extended by the state of the analysis. */
const counts = 'likeCount downloads @flatten { downloadCount30Days: last30Days }'
const fields = '@flatten { tags score @flatten { status grantedPoints maxPoints } }'
const points = 'grantedPoints maxPoints'

export const scoreRoutes = [
  route('GET /api/packages/:pkg/score', `query ($pkg: String!) { package(name: $pkg) { ${counts} displayedVersion ${fields} } }`, {
    summary: 'Points, likes, downloads and tags of the latest version, or of the highest one when all are retracted.',
    answer: 'package',
    ...ofDisplayedVersion,
  }),
  route(
    'GET /api/packages/:pkg/versions/:version/score',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { ${counts} version(version: $version) ${fields} } }`,
    {
      summary: 'Points, likes, downloads and tags of a version.',
      answer: 'package',
      ...ofVersion,
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/scoring-report',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { score {
      status error engine engineVersion startedAt finishedAt ${points}
      report {
        sections { id: key title ${points} status criteria { id: key title ${points} reason remedy } }
        notMeasured { id: key title reason } tags notes documented { documented total } sizes { kind files bytes }
      }
    } } } }`,
    {
      summary: 'Returns the full report of an analysis, and the error if the last analysis failed.',
      answer: 'package.version.score',
      ...ofVersion,
    },
  ),
]
