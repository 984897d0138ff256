import type { Context } from '../access/context.ts'
import { packageOf, versionOf } from '../packages/rest-answers.ts'
import { type Data, route } from '../rest/route.ts'

const fields = '{ tags score { status grantedPoints maxPoints } }'
const points = 'grantedPoints maxPoints'

export const scoreRoutes = [
  route(
    'GET /api/packages/:pkg/score',
    `query ($pkg: String!) { package(name: $pkg) { likeCount downloads { last30Days } latest ${fields} } }`,
    {
      summary: 'Points, likes, downloads and tags of the latest version.',
      answer: { from: (data, context) => scoreOf(packageOf(data, context), latestOf(data, context)) },
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/score',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { likeCount downloads { last30Days } version(version: $version) ${fields} } }`,
    {
      summary: 'The same of any version.',
      answer: { from: (data, context) => scoreOf(packageOf(data, context), versionOf(data, context)) },
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
    { summary: 'What an analysis found in detail, and why the last one failed if it did.', answer: { from: reportOf } },
  ),
]

/** A package of which whoever asks may read no version is not there for them. */
function latestOf(data: Data, context: Context): Data {
  const { latest } = packageOf(data, context)
  return latest ? (latest as Data) : packageOf({}, context)
}

/** As pub.dev answers, with the state of the analysis beside it. */
function scoreOf({ likeCount, downloads }: Data, { tags, score }: Data): Data {
  const { status, grantedPoints, maxPoints } = score as { status: string; grantedPoints: number | null; maxPoints: number | null }
  const downloadCount30Days = (downloads as { last30Days: number } | null)?.last30Days ?? null
  return { status: status.toLowerCase(), grantedPoints, maxPoints, likeCount, downloadCount30Days, tags }
}

function reportOf(data: Data, context: Context): Data {
  const { status, report, ...rest } = versionOf(data, context).score as { status: string; report: { sections: Data[] } | null }
  const sections = report?.sections.map((section) => ({ ...section, status: String(section.status).toLowerCase() }))
  return { status: status.toLowerCase(), ...rest, report: report && { ...report, sections } }
}
