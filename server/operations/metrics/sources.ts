import { readSchedule } from '../backup/schedule/state.ts'
import type { Config } from '../../platform/config/config.ts'
import type { Database } from '../../platform/db/open/orm.ts'
import { checkHealth } from '../checks/service.ts'
import { watchMirror } from './mirror.ts'
import { type Caches, countLookups } from '../../platform/caches/caches.ts'
import { readBacklog } from '../../platform/jobs/backlog.ts'
import { readFreeBytes, localVolumes } from '../../platform/store/health.ts'
import type { Services } from '../../services.ts'
import { countedWays } from '../../accounts/sessions/start.ts'
import type { Gauges } from './gauges.ts'

type Watched = Pick<Services, 'config' | 'database' | 'caches' | 'state' | 'blobs' | 'analyzer' | 'now' | 'log'>

/** Adds gauges for the parts of the server. The parts themselves do not depend on metrics. */
export function watchParts(gauges: Gauges, watched: Watched): void {
  const { config, database, caches, analyzer } = watched
  watchCaches(gauges, database, caches)
  watchPools(gauges, database)
  watchJobs(gauges, watched)
  watchBackups(gauges, watched)
  watchSpace(gauges, config)
  watchMirror(gauges, watched)
  watchSignIns(gauges, watched)
  gauges.add({
    name: 'scoring',
    gauges: { snug_scoring_processes: { help: 'Processes of the built-in engine that analyze versions.', labels: ['state'] } },
    read() {
      const { busy, idle } = analyzer.processes()
      return { snug_scoring_processes: [sample(busy, { state: 'busy' }), sample(idle, { state: 'idle' })] }
    },
  })
  // Registered last, so that its statements do not count as waiting for a connection.
  watchHealth(gauges, watched)
}

const sample = (value: number, labels: Record<string, string> = {}) => ({ value, labels })

/** Timeout of health checks in milliseconds, shorter than for a health report. */
const healthTimeoutMs = 1500

function watchHealth(gauges: Gauges, watched: Watched): void {
  gauges.add({
    name: 'health',
    gauges: { snug_component_up: { help: 'Whether a component works (1), by its name in /api/v1/health.', labels: ['component'] } },
    async read() {
      const { checks } = await checkHealth(watched, healthTimeoutMs)
      return {
        snug_component_up: Object.entries(checks).map(([component, { status }]) => sample(status === 'error' ? 0 : 1, { component })),
      }
    },
  })
}

function watchSpace(gauges: Gauges, config: Config): void {
  gauges.add({
    name: 'space',
    gauges: {
      snug_free_bytes: { help: 'Free space of the local volumes of archives and SQLite file.', labels: ['volume'] },
      snug_min_free_bytes: { help: 'Value of MIN_FREE_BYTES: uploads are rejected below this amount of free space.' },
    },
    async read() {
      const readings = localVolumes(config).map(async ({ volume, folder }) => sample(await readFreeBytes(folder), { volume }))
      return { snug_free_bytes: await Promise.all(readings), snug_min_free_bytes: [sample(config.MIN_FREE_BYTES)] }
    },
  })
}

function watchCaches(gauges: Gauges, { reads }: Database, caches: Caches): void {
  const lookups = countLookups(caches)
  gauges.add({
    name: 'caches',
    gauges: {
      snug_cache_requests_total: { help: 'Lookups in memory caches by result: hit or miss.', labels: ['cache', 'result'], isTotal: true },
    },
    read() {
      const used = [...lookups].filter(([, { hits, misses }]) => hits + misses > 0)
      const all = [...used, ...(reads.recalled ? [['rows', reads.recalled] as const] : [])]
      return {
        snug_cache_requests_total: all.flatMap(([cache, { hits, misses }]) => [
          sample(hits, { cache, result: 'hit' }),
          sample(misses, { cache, result: 'miss' }),
        ]),
      }
    },
  })
}

function watchSignIns(gauges: Gauges, { state }: Watched): void {
  gauges.add({
    name: 'sign_ins',
    gauges: {
      snug_sign_ins_total: {
        help: 'Sign-ins by way: password, authenticator_app and recovery_code (after the password), passkey, provider.',
        labels: ['way'],
        isTotal: true,
      },
      snug_sign_in_failures_total: {
        help: 'Failed sign-ins by reason, such as wrong_password, wrong_code, wrong_passkey, rate_limited, provider_unreachable, not_linked.',
        labels: ['reason'],
        isTotal: true,
      },
      snug_job_token_refusals_total: {
        help: 'Refused jobs of CI systems by reason, such as issuer, signature, audience, expired, no_rule, rule.',
        labels: ['reason'],
        isTotal: true,
      },
    },
    read() {
      const byReason = (counts?: ReadonlyMap<string, number>) => [...(counts ?? [])].map(([reason, value]) => sample(value, { reason }))
      return {
        snug_sign_ins_total: countedWays.map((way) => sample(state.signIns?.get(way) ?? 0, { way })),
        snug_sign_in_failures_total: byReason(state.signInFailures),
        snug_job_token_refusals_total: byReason(state.jobTokenRefusals),
      }
    },
  })
}

function watchPools(gauges: Gauges, database: Database): void {
  gauges.add({
    name: 'database',
    gauges: {
      snug_database_connections: { help: 'Connections to the database.', labels: ['pool', 'state'] },
      snug_database_connections_max: { help: 'Maximum number of connections of a pool.', labels: ['pool'] },
      snug_database_waiting: { help: 'Statements and transactions that wait for a connection.', labels: ['pool'] },
    },
    read() {
      const pools = database.pools()
      return {
        snug_database_connections: pools.flatMap(({ pool, open, idle }) => [
          sample(open - idle, { pool, state: 'busy' }),
          sample(idle, { pool, state: 'idle' }),
        ]),
        snug_database_connections_max: pools.map(({ pool, max }) => sample(max, { pool })),
        snug_database_waiting: pools.map(({ pool, waiting }) => sample(waiting, { pool })),
      }
    },
  })
}

function watchJobs(gauges: Gauges, { database, now }: Watched): void {
  gauges.add({
    name: 'jobs',
    gauges: {
      snug_jobs: {
        help: 'Jobs by kind and state (queued, running, failed), counted up to 10,000. Scoring: analysis, analysis.pana.',
        labels: ['kind', 'state'],
      },
      snug_jobs_oldest_due_seconds: { help: 'Age of the oldest due job.' },
    },
    async read() {
      const { counts, oldestDueSeconds } = await readBacklog(database.reads, now())
      return {
        snug_jobs: counts.map(({ kind, state, total }) => sample(total, { kind, state })),
        snug_jobs_oldest_due_seconds: [sample(oldestDueSeconds)],
      }
    },
  })
}

function watchBackups(gauges: Gauges, { config, database, now }: Watched): void {
  gauges.add({
    name: 'backups',
    gauges: {
      snug_backup_last_success_timestamp_seconds: { help: 'Completion time of the last successful scheduled backup, in Unix time.' },
      snug_backup_last_failure_timestamp_seconds: { help: 'Time of the last failed scheduled backup, in Unix time.' },
      snug_backup_next_timestamp_seconds: { help: 'Time of the next scheduled backup, in Unix time.' },
      snug_backup_size_bytes: { help: 'Size of the last scheduled backup, including archives shared with other backups.' },
    },
    async read() {
      const { lastSuccess, lastFailure, nextAt } = (await readSchedule(config, database.reads, now())) ?? {}
      const at = (moment: string | Date) => [sample(new Date(moment).getTime() / 1000)]
      return {
        ...(lastSuccess && { snug_backup_last_success_timestamp_seconds: at(lastSuccess.at) }),
        ...(lastFailure && { snug_backup_last_failure_timestamp_seconds: at(lastFailure.at) }),
        ...(nextAt && { snug_backup_next_timestamp_seconds: at(nextAt) }),
        ...(lastSuccess && { snug_backup_size_bytes: [sample(lastSuccess.bytes)] }),
      }
    },
  })
}
