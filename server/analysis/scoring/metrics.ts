import { z } from 'zod'
import { version as serverVersion } from '../../platform/config/version.ts'
import { type Data, route } from '../../platform/rest/route.ts'
import type { Context } from '../../platform/access/context.ts'
import { ofPackage, packageParameter, unknownPackage, unknownVersion } from '../../registry/packages/parameters.ts'
import type { ScoreStatus } from './status.ts'

export const downloadCount = z.int().describe('Downloads in the last 30 days. 0 without signing in.')

const counted = z.array(z.object({ versionRange: z.string(), counts: z.array(z.int()) }))

/** The document of pub.dev: absent parts of the reports are omitted. */
const metrics = z.object({
  score: z.object({
    grantedPoints: z.int(),
    maxPoints: z.int(),
    likeCount: z.int(),
    downloadCount30Days: downloadCount,
    tags: z.array(z.string()),
  }),
  scorecard: z.object({
    packageName: z.string(),
    packageVersion: z.string(),
    runtimeVersion: z.string().describe('Version of this server.'),
    updated: z.iso.datetime(),
    dartdocReport: z.object({ reportStatus: z.enum(['success', 'failed']) }),
    panaReport: z.looseObject({ reportStatus: z.enum(['success', 'aborted']), derivedTags: z.array(z.string()) }),
    taskStatus: z.enum(['pending', 'running', 'completed', 'failed']).nullable().describe('Null if no analysis is requested.'),
    weeklyVersionDownloads: z
      .object({
        totalWeeklyDownloads: z.array(z.int()),
        majorRangeWeeklyDownloads: counted,
        minorRangeWeeklyDownloads: counted,
        patchRangeWeeklyDownloads: counted,
        newestDate: z.iso.datetime(),
      })
      .nullable()
      .describe('Downloads per week, newest first. Null without signing in.'),
  }),
})

type Downloads = { last30Days: number; weeks: { start: string; downloads: number }[]; versions: { version: string; weeks: number[] }[] }
type Criterion = { title: string; grantedPoints: number; maxPoints: number; reason: string }
type Section = Omit<Criterion, 'reason'> & { id: string; status: string; criteria: Criterion[] }
type Urls = Record<'homepage' | 'repository' | 'issueTracker' | 'documentation', string | null> & { funding: string[] }
type Version = Urls & {
  version: string
  publishedAt: string
  tags: string[]
  licenseId: string | null
  license: { path: string } | null
  apiDocumentation: { url: string | null }
  score: {
    status: ScoreStatus
    engine: string | null
    engineVersion: string | null
    finishedAt: string | null
    grantedPoints: number | null
    maxPoints: number | null
    report: { sections: Section[]; tags: string[] } | null
  }
}
type Package = { name: string; likeCount: number; downloads: Downloads | null; version: Version }

export const metricsRoute = route(
  'GET /api/packages/:pkg/metrics',
  `query ($pkg: String!, $version: SemVer) { package(name: $pkg) {
    name likeCount downloads { last30Days weeks { start downloads } versions { version weeks } }
    version(version: $version) {
      version publishedAt tags licenseId license { path } homepage repository issueTracker documentation funding apiDocumentation { url }
      score {
        status engine engineVersion finishedAt grantedPoints maxPoints
        report { tags sections { id: key title grantedPoints maxPoints status criteria { title grantedPoints maxPoints reason } } }
      }
    }
  } }`,
  {
    summary: 'Score and analysis of a version, as on pub.dev: the latest one without `version`.',
    answer: { from: metricsOf, schema: metrics },
    required: { ...ofPackage.required, 'package.version': noVersion },
  },
)

function noVersion({ request }: Context) {
  const { version } = request.query as { version?: string }
  return version ? unknownVersion(packageParameter(request), version) : unknownPackage(packageParameter(request))
}

function metricsOf(data: Data): z.infer<typeof metrics> {
  const { name, likeCount, downloads, version } = data.package as Package
  const { score, tags } = version
  const [grantedPoints, maxPoints] = [score.grantedPoints ?? 0, score.maxPoints ?? 0]
  return {
    score: { grantedPoints, maxPoints, likeCount, downloadCount30Days: downloads?.last30Days ?? 0, tags },
    scorecard: {
      packageName: name,
      packageVersion: version.version,
      runtimeVersion: serverVersion,
      updated: score.finishedAt ?? version.publishedAt,
      dartdocReport: { reportStatus: version.apiDocumentation.url === null ? 'failed' : 'success' },
      panaReport: panaReportOf(version),
      taskStatus: score.status === 'disabled' || score.status === 'not_analyzed' ? null : score.status,
      weeklyVersionDownloads: downloads && weeklyDownloadsOf(downloads),
    },
  }
}

function panaReportOf(version: Version): z.infer<typeof metrics>['scorecard']['panaReport'] {
  const { score, licenseId, license } = version
  const { report, engine, engineVersion, finishedAt } = score
  if (score.grantedPoints === null) return { reportStatus: 'aborted', derivedTags: [] }
  const urls = Object.entries({
    homepageUrl: version.homepage,
    repositoryUrl: version.repository,
    issueTrackerUrl: version.issueTracker,
    documentationUrl: version.documentation,
  }).filter(([, url]) => url !== null)
  return {
    ...(finishedAt && { timestamp: finishedAt }),
    ...(engine === 'pana' && { panaRuntimeInfo: { panaVersion: engineVersion } }),
    reportStatus: 'success',
    derivedTags: report?.tags ?? [],
    licenses: license === null ? [] : [{ path: license.path, spdxIdentifier: licenseId ?? 'unknown' }],
    ...(report && { report: { sections: report.sections.map(sectionOf) } }),
    result: {
      ...Object.fromEntries(urls),
      fundingUrls: version.funding,
      grantedPoints: score.grantedPoints,
      maxPoints: score.maxPoints,
    },
  }
}

/** The summary is Markdown with a heading for each criterion, as pana writes it. */
function sectionOf({ criteria, status, ...section }: Section): Data {
  const markOf = ({ grantedPoints, maxPoints }: Criterion) => (grantedPoints === maxPoints ? '*' : grantedPoints === 0 ? 'x' : '~')
  const summary = criteria.map((one) =>
    `### [${markOf(one)}] ${one.grantedPoints}/${one.maxPoints} points: ${one.title}\n\n${one.reason}`.trimEnd(),
  )
  return { ...section, status: status === 'not_measured' ? 'passed' : status, summary: summary.join('\n\n') }
}

/** Ranges of versions that pub.dev's document lists separately. */
const maxRanges = 5

function weeklyDownloadsOf({ weeks, versions }: Downloads): z.infer<typeof metrics>['scorecard']['weeklyVersionDownloads'] {
  const ranges = (parts: 1 | 2 | 3) => {
    const groups = Map.groupBy(versions, ({ version }) => (/^\d+\.\d+\.\d+/.exec(version)?.[0] ?? version).split('.', parts).join('.'))
    return Array.from(groups, ([start, group]) => ({ versionRange: rangeOf(start), counts: sumOf(group.map((one) => one.weeks)) }))
      .slice(0, maxRanges)
      .toReversed()
  }
  return {
    totalWeeklyDownloads: weeks.map(({ downloads }) => downloads).toReversed(),
    majorRangeWeeklyDownloads: ranges(1),
    minorRangeWeeklyDownloads: ranges(2),
    patchRangeWeeklyDownloads: ranges(3),
    newestDate: new Date(Date.parse(weeks.at(-1)?.start ?? '') + 6 * 86_400_000).toISOString(),
  }
}

/** Returns the range of the versions that begin with these numbers: `2.1` gives `>=2.1.0-0 <2.2.0`. */
function rangeOf(start: string): string {
  const numbers = start.split('.').map(BigInt)
  const from = [...numbers, 0n, 0n].slice(0, 3).join('.')
  const end = [...numbers.slice(0, -1), (numbers.at(-1) ?? 0n) + 1n, 0n, 0n].slice(0, 3).join('.')
  return `>=${from}-0 <${end}`
}

/** Adds up weekly downloads, the newest week first. */
const sumOf = (series: readonly number[][]): number[] =>
  (series[0] ?? []).map((_, week) => series.reduce((sum, weeks) => sum + (weeks[week] ?? 0), 0)).toReversed()
