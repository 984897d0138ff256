import { type Recording, record, type Request, startBaselines } from './baselines.ts'
import { type Server, stopServer } from './processes.ts'
import { publishVersions } from './publishing.ts'
import type { Registry } from './registry.ts'
import { measureInterleaved, median, type Sample, type Subject } from './rounds.ts'
import type { Row } from './table.ts'

const gzip = { 'accept-encoding': 'gzip' }
const listing = (name: string): Request => ({ path: `/api/packages/${name}`, headers: gzip })
const archive = (name: string): Request => ({ path: `/api/archives/${name}-1.0.0.tar.gz` })

/** Publishes packages, measures reads from the registry and the baselines alternately, and returns a row per comparison. */
export async function readingRows(
  registry: Registry,
  folder: string,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Row[]> {
  await publishPackages(registry)
  const { headers } = await record(registry, listing('versions_1'), folder)
  const requests = {
    twenty: listing('versions_20'),
    many: listing('versions_200'),
    unchanged: { path: '/api/packages/versions_1', headers: { ...gzip, 'if-none-match': headers.etag ?? '' }, status: 304 },
    small: archive('small_archive'),
    large: archive('large_archive'),
  }
  const recordings: Recording[] = []
  for (const request of Object.values(requests)) recordings.push(await record(registry, request, folder))
  const baselines = await startBaselines(recordings, folder)
  const comparisons = compare(registry, requests, baselines)
  const samples = await measureInterleaved([...new Set(comparisons.flatMap(({ ours, theirs }) => [ours, theirs]))], rounds, seconds)
  for (const server of Object.values(baselines)) if (server) await stopServer(server)
  return comparisons.map((comparison) => toRow(comparison, samples))
}

async function publishPackages(registry: Registry): Promise<void> {
  for (const versions of [1, 20, 200]) await publishVersions(registry, `versions_${versions}`, 0, versions)
  await publishVersions(registry, 'small_archive', 0, 1, 48_000)
  await publishVersions(registry, 'large_archive', 0, 1, 5_000_000)
}

type Requests = Record<'twenty' | 'many' | 'unchanged' | 'small' | 'large', Request>
type Baselines = { fastify: Server; files: Server; nginx: Server | null }
export type Comparison = { what: string; ours: Subject; theirs: Subject; atLeast?: number }

/** Returns the comparisons. Their ratios are ratios of responses per second. */
function compare(registry: Registry, requests: Requests, { fastify, files, nginx }: Baselines): Comparison[] {
  const of = (server: Server, { path, headers, status }: Request): Subject => {
    const credentials = server === registry && { authorization: `Bearer ${registry.token}` }
    return { server, path, headers: { ...headers, ...credentials }, ...(status !== undefined && { status }) }
  }
  const ours = { one: of(registry, listing('versions_1')), twenty: of(registry, requests.twenty), many: of(registry, requests.many) }
  const [small, large] = [of(registry, requests.small), of(registry, requests.large)]
  return [
    { what: 'listing of 20 versions / Fastify', ours: ours.twenty, theirs: of(fastify, requests.twenty), atLeast: 0.5 },
    { what: 'listing of 200 versions / Fastify', ours: ours.many, theirs: of(fastify, requests.many), atLeast: 0.5 },
    {
      what: 'unchanged listing (304) / Fastify',
      ours: of(registry, requests.unchanged),
      theirs: of(fastify, requests.unchanged),
      atLeast: 0.5,
    },
    { what: 'archive of 50 KB / Fastify', ours: small, theirs: of(fastify, requests.small), atLeast: 0.5 },
    { what: 'archive of 5 MB / file stream', ours: large, theirs: of(files, requests.large), atLeast: 0.9 },
    { what: 'listing of 200 versions / of 1 version', ours: ours.many, theirs: ours.one, atLeast: 0.8 },
    ...(nginx ? nginxRows(nginx) : []),
  ]

  function nginxRows(server: Server): Comparison[] {
    return [
      { what: 'listing of 200 versions / nginx', ours: ours.many, theirs: of(server, requests.many) },
      { what: 'archive of 50 KB / nginx', ours: small, theirs: of(server, requests.small) },
      { what: 'archive of 5 MB / nginx', ours: large, theirs: of(server, requests.large) },
    ]
  }
}

/** Returns the table row of a comparison. */
export function toRow({ what, ours, theirs, atLeast }: Comparison, samples: Map<Subject, Sample[]>): Row {
  const [mine, others] = [samples.get(ours) ?? [], samples.get(theirs) ?? []]
  const rate = (list: Sample[]) => `${Math.round(median(list.map(({ perSecond }) => perSecond)))}/s`
  const cost = (list: Sample[]) => median(list.map(({ cpu }) => cpu)).toFixed(1)
  return {
    what,
    snug: rate(mine),
    baseline: rate(others),
    ratio: median(mine.map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN))),
    bound: atLeast === undefined ? null : { atLeast },
    cpu: `${cost(mine)}, ${cost(others)}`,
  }
}
