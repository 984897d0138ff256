import { ofDisplayedVersion, ofVersion } from '../../registry/packages/parameters.ts'
import { route, type Data, ok, type RouteOptions } from '../../platform/rest/route.ts'
import { z } from 'zod'
import { downloadCount, metricsRoute } from './metrics.ts'

/**
 * The response of pub.dev, extended by the state of the analysis. Numbers are never null, because clients of pub.dev fail on null: a version that is
 * not analyzed has 0 of 0 points, and callers who may not see downloads get 0.
 */
const counts = 'likeCount downloadCount30Days: downloads { last30Days }'
const fields = '@flatten { tags score @flatten { status grantedPoints maxPoints passedChecks totalChecks isIncomplete } }'
const zeroForNull = (path: string): RouteOptions['changes'] => ({
  'package.downloadCount30Days': {
    from: (downloads) => (downloads as { last30Days: number } | null)?.last30Days ?? 0,
    schema: downloadCount,
  },
  ...Object.fromEntries(
    ['grantedPoints', 'maxPoints'].map((name) => [`${path}.score.${name}`, { from: (value) => value ?? 0, schema: z.int() }]),
  ),
})
const points = 'grantedPoints maxPoints'

export const scoreRoutes = [
  route('GET /api/packages/:pkg/score', `query ($pkg: String!) { package(name: $pkg) { ${counts} displayedVersion ${fields} } }`, {
    summary: 'Checks, points, likes, downloads and tags of the latest version, or of the highest one when all are retracted.',
    answer: 'package',
    changes: zeroForNull('package.displayedVersion'),
    ...ofDisplayedVersion,
  }),
  metricsRoute,
  route(
    'GET /api/packages/:pkg/versions/:version/score',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { ${counts} version(version: $version) ${fields} } }`,
    {
      summary: 'Checks, points, likes, downloads and tags of a version.',
      answer: 'package',
      changes: zeroForNull('package.version'),
      ...ofVersion,
    },
  ),
  route(
    'GET /api/packages/:pkg/versions/:version/scoring-report',
    `query ($pkg: String!, $version: SemVer!) { package(name: $pkg) { version(version: $version) { score {
      status error isIncomplete engine engineVersion startedAt finishedAt ${points} passedChecks totalChecks
      report {
        checks { id: key title ${points} reason remedy }
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

const settings =
  'permittedByEnvironment scoringEnabled docsEnabled concurrency timeoutSeconds defaultSdk @flatten { defaultSdk: uuid } workers { active queued } coverage { versions scored }'

const queued = (field: string) => ({
  from: (data: Data) => ({ status: 'queued', ...(data[field] as { jobId: string }) }),
  schema: z.object({ status: z.literal('queued'), jobId: z.string() }),
})

export const scoringAdminRoutes = [
  route(
    'POST /api/admin/packages/:pkg/versions/:version/rescore',
    'mutation ($pkg: String!, $version: SemVer!) { rescoreVersion(input: { package: $pkg, version: $version }) { jobId } }',
    { summary: 'Queues a new analysis of the version. Fails with 409 while scoring is off.', answer: queued('rescoreVersion') },
  ),
  route(
    'POST /api/admin/packages/:pkg/regenerate-docs',
    'mutation ($pkg: String!) { regenerateDocumentation(input: { package: $pkg }) { jobId } }',
    {
      summary: "Regenerates the API documentation of the package's latest version. Fails with 409 while scoring or documentation is off.",
      answer: queued('regenerateDocumentation'),
    },
  ),
  route('POST /api/admin/sdk/score-remaining', 'mutation { rescoreVersions(input: { withoutReportOnly: true }) { queued: queuedCount } }', {
    answer: 'rescoreVersions',
    summary:
      'Queues an analysis of every version without a report, newest first. Returns their number. Fails with 409 while scoring is off.',
  }),
  route(
    'GET /api/admin/sdk/scoring-logs',
    `query ($after: String) {
      entries: scoringLog(first: 100, after: $after) { nodes { at level package version message } pageInfo { hasNextPage endCursor } }
    }`,
    { summary: 'Lists the scoring log, newest entries first. The last 1,000 entries are kept.', allNodes: 'entries' },
  ),
  route('DELETE /api/admin/sdk/scoring-logs', 'mutation { clearScoringLog { clearedAt } }', {
    summary: 'Clears the scoring log.',
    answer: ok,
  }),
  route('GET /api/admin/sdk/settings', `{ scoringSettings { ${settings} } }`, {
    summary: 'Returns the scoring settings, the coverage and the length of the queue.',
    answer: 'scoringSettings',
  }),
  route(
    'PUT /api/admin/sdk/settings',
    `mutation ($input: UpdateScoringSettingsInput!) { updateScoringSettings(input: $input) { settings { ${settings} } } }`,
    {
      summary: 'Updates the given settings. `defaultSdk` is the id of an installed SDK.',
      ids: { defaultSdk: 'SdkInstall' },
      answer: 'updateScoringSettings.settings',
      errorStatuses: [404],
    },
  ),
]
