import { mirrorSize } from '../../registry/mirror/catalog/cached.ts'
import { healthOf } from '../../registry/mirror/health.ts'
import type { Services } from '../../services.ts'
import type { Gauges } from './gauges.ts'

type Watched = Pick<Services, 'config' | 'database' | 'state' | 'now'>

/** How long the size of the mirror is kept, in milliseconds. Reading it takes as long as the mirror has files. */
const sizeMs = 60_000

const gauges = {
  snug_mirror_requests_total: {
    help: 'Reads of mirrored files by kind and result: hit, miss, stale (older than UPSTREAM_TTL), refused (status 403).',
    labels: ['kind', 'result'],
    isTotal: true,
  },
  snug_mirror_upstream_requests_total: { help: 'Requests to the upstream server.', isTotal: true },
  snug_mirror_upstream_failures_total: { help: 'Failed requests to the upstream server.', isTotal: true },
  snug_mirror_upstream_duration_seconds_total: { help: 'Total duration of requests to the upstream server.', isTotal: true },
  snug_mirror_upstream_received_bytes_total: { help: 'Bytes received from the upstream server.', isTotal: true },
  snug_mirror_decisions_total: {
    help: 'Decisions of policies by rule and outcome: refused, audited, fault (of the upstream server).',
    labels: ['rule', 'outcome'],
    isTotal: true,
  },
  snug_mirror_bytes: { help: 'Size of the mirror, read once a minute.' },
  snug_mirror_max_bytes: { help: 'Value of UPSTREAM_CACHE_BYTES: beyond it, the least recently used files are deleted.' },
}

/** Adds metrics of the mirror. They have no values without UPSTREAM_URL. The mirror itself does not depend on metrics. */
export function watchMirror(all: Gauges, { config, database, state, now }: Watched): void {
  let size: { bytes: number; at: number } | undefined
  async function sizeInBytes(): Promise<number> {
    if (!size || now().getTime() - size.at > sizeMs) size = { bytes: (await mirrorSize(database.fork())).bytes, at: now().getTime() }
    return size.bytes
  }
  all.add({
    name: 'mirror',
    gauges,
    async read() {
      if (config.UPSTREAM_URL === undefined) return {}
      const { requests, failures, bytes, latencyMs } = healthOf({ state })
      return {
        snug_mirror_requests_total: Object.entries(state.mirrorReads ?? {}).flatMap(([kind, counts]) =>
          Object.entries(counts).map(([result, value]) => ({ labels: { kind, result }, value })),
        ),
        snug_mirror_upstream_requests_total: [{ value: requests }],
        snug_mirror_upstream_failures_total: [{ value: failures }],
        snug_mirror_upstream_duration_seconds_total: [{ value: latencyMs / 1000 }],
        snug_mirror_upstream_received_bytes_total: [{ value: bytes }],
        snug_mirror_decisions_total: [...(state.mirrorDecisionCounts ?? [])].map(([series, value]) => {
          const [rule = '', outcome = ''] = series.split(' ')
          return { labels: { rule, outcome }, value }
        }),
        snug_mirror_bytes: [{ value: await sizeInBytes() }],
        snug_mirror_max_bytes: [{ value: config.UPSTREAM_CACHE_BYTES }],
      }
    },
  })
}
