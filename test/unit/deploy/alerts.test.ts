import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { promtool } from '../../support/promtool.ts'
import { root } from '../../support/sources.ts'

const file = join(root, 'server/platform/deploy/prometheus-alerts.yaml')
const rule = z.object({
  alert: z.string().startsWith('Snug'),
  expr: z.string(),
  labels: z.object({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.object({ summary: z.string().min(1) }),
})
const { groups } = z.object({ groups: z.tuple([z.object({ rules: z.array(rule) })]) }).parse(parse(readFileSync(file, 'utf8')))
const [{ rules }] = groups

const on = (name: string, labels = '') => `${name}{job="snug", instance="a"${labels && `, ${labels}`}}`
const hour = 3600
/** Series of a healthy server over three hours, with a sample per minute. Time starts at 0. */
const healthy: Record<string, string> = {
  [on('up')]: '1x180',
  [on('snug_build_info')]: '1x180',
  [on('process_start_time_seconds')]: '7x180',
  [on('snug_component_up', 'component="blob_store"')]: '1x180',
  [on('snug_free_bytes', 'volume="archives"')]: '5000x180',
  [on('snug_min_free_bytes')]: '100x180',
  [on('snug_http_request_duration_seconds_count', 'status="2xx"')]: '0+600x180',
  [on('snug_http_request_duration_seconds_count', 'status="5xx"')]: '0+6x180',
  [on('snug_uploads_total', 'outcome="failed"')]: '1x180',
  [on('snug_sign_in_failures_total', 'reason="provider_failed"')]: '1x180',
  [on('nodejs_eventloop_lag_p99_seconds')]: '0.02x180',
  [on('snug_database_waiting', 'pool="reads"')]: '0 3 0x178',
  [on('snug_jobs_oldest_due_seconds')]: '20x180',
  [on('snug_job_duration_seconds_count', 'kind="analysis", outcome="failed"')]: '0x120 0+0.05x60',
  // The last failure is older than the last success.
  [on('snug_backup_last_success_timestamp_seconds')]: `${-hour}x180`,
  [on('snug_backup_last_failure_timestamp_seconds')]: `${-2 * hour}x180`,
  [on('snug_collector_success', 'collector="jobs"')]: '1x180',
}

/** Series that make each alert fire. */
const faults: Record<string, Record<string, string>> = {
  SnugAbsent: { [on('snug_build_info')]: '1x170 stale', [on('up')]: '1x180' },
  SnugInstanceDown: { [on('up')]: '1x170 0x10' },
  SnugRestarts: { [on('process_start_time_seconds')]: '7x150 8 9 10 11 12x20' },
  SnugComponentFails: { [on('snug_component_up', 'component="blob_store"')]: '1x170 0x10' },
  SnugSpaceUsedUp: { [on('snug_free_bytes', 'volume="archives"')]: '5000x170 99x10' },
  SnugSpaceLow: { [on('snug_free_bytes', 'volume="archives"')]: '5000x150 999x30' },
  SnugServerErrors: { [on('snug_http_request_duration_seconds_count', 'status="5xx"')]: '0x150 0+60x30' },
  SnugUploadsFail: { [on('snug_uploads_total', 'outcome="failed"')]: '1x170 1+1x10' },
  SnugProviderFails: { [on('snug_sign_in_failures_total', 'reason="provider_failed"')]: '1x170 1+1x10' },
  SnugSlow: { [on('nodejs_eventloop_lag_p99_seconds')]: '0.02x150 0.9x30' },
  SnugDatabaseConnectionsUsedUp: { [on('snug_database_waiting', 'pool="reads"')]: '0x170 4x10' },
  SnugJobsLate: { [on('snug_jobs_oldest_due_seconds')]: '20x100 4000x80' },
  SnugJobsFail: { [on('snug_job_duration_seconds_count', 'kind="analysis", outcome="failed"')]: '0x140 0+1x40' },
  SnugBackupFailed: { [on('snug_backup_last_failure_timestamp_seconds')]: `${hour}x180` },
  SnugBackupLate: {
    [on('snug_backup_last_success_timestamp_seconds')]: `${-50 * hour}x180`,
    [on('snug_backup_last_failure_timestamp_seconds')]: `${-60 * hour}x180`,
  },
  SnugMetricsIncomplete: { [on('snug_collector_success', 'collector="jobs"')]: '1x150 0x30' },
}

/** Checks with promtool that exactly these alerts fire after three hours. */
function checkFiring(series: Record<string, string>, firing: string[]): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'snug-alerts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }))
  const exp_samples = firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }))
  const promql_expr_test = [{ expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: '3h', exp_samples }]
  const path = join(folder, 'tests.yaml')
  writeFileSync(
    path,
    stringify({ rule_files: [file], evaluation_interval: '1m', tests: [{ interval: '1m', input_series, promql_expr_test }] }),
  )
  return promtool(['test', 'rules', path])
}

const success = { status: 0, output: expect.stringContaining('SUCCESS') }

it('has alert rules that Prometheus accepts', () => {
  expect(promtool(['check', 'rules', file])).toEqual({ status: 0, output: expect.stringContaining(`${rules.length} rules found`) })
})

it('fires no alerts for a healthy server', () => {
  expect(checkFiring(healthy, [])).toEqual(success)
})

it('has a fault for each alert', () => {
  expect(Object.keys(faults)).toEqual(rules.map(({ alert }) => alert))
})

it.each(Object.keys(faults))('fires only %s for its fault', (alert) => {
  expect(checkFiring({ ...healthy, ...faults[alert] }, [alert])).toEqual(success)
})

it('fires SnugBackupFailed without a previous backup, and no alerts if backups are not configured', () => {
  const lastSuccess = on('snug_backup_last_success_timestamp_seconds')
  const others = Object.fromEntries(Object.entries(healthy).filter(([name]) => name !== lastSuccess))
  expect(checkFiring({ ...others, ...faults.SnugBackupFailed }, ['SnugBackupFailed'])).toEqual(success)
  const bare = Object.fromEntries(Object.entries(others).filter(([name]) => !name.includes('backup')))
  expect(checkFiring(bare, [])).toEqual(success)
})
