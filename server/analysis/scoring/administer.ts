import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { db } from '../../platform/db/query.ts'
import { wakeAfterCommit } from '../../platform/jobs/queue.ts'
import { type DirectedPage, newestFirst } from '../../platform/graphql/connections.ts'
import { type LogLevel, ScoringLogEntry } from './entity.ts'
import { SdkInstall } from '../sdks/entity.ts'
import { lockSetting, writeSetting } from '../../platform/settings/service.ts'
import { analysisKind } from '../docs/service.ts'
import { panaKind } from './requests.ts'
import { currentSettings, type ScoringSettings, scoringSettings } from '../../platform/settings/scoring.ts'

export type SettingsState = ScoringSettings & { permittedByEnvironment: boolean }

export async function settingsState(context: Pick<Context, 'config' | 'database'>): Promise<SettingsState> {
  return { ...(await currentSettings(context)), permittedByEnvironment: context.config.SCORING_ENABLED }
}

export type SettingsChange = { [Name in keyof ScoringSettings]?: ScoringSettings[Name] | null | undefined }

/** Updates the given settings. @throws ApiError InsufficientPermissions when the environment does not allow scoring. */
export async function updateSettings(context: SignedInContext, change: SettingsChange): Promise<SettingsState> {
  const { config, em, viewer, ip } = context
  if (change.scoringEnabled && !config.SCORING_ENABLED)
    throw insufficientPermissions('The environment of this server does not permit scoring. Set SCORING_ENABLED=true and restart it.')
  await em.fork().transactional(async (inner) => {
    const before = await lockSetting(inner, scoringSettings)
    const after = { ...before, ...Object.fromEntries(Object.entries(change).filter(([, value]) => value != null)) }
    const changes = describeChanges(before, after)
    if (changes.length === 0) return
    const summary = `${viewer.displayName} changed the scoring settings: ${changes.join(', ')}`
    audit(inner, { actor: viewer, ip, kind: 'server.settings_updated', summary })
    await writeSetting(inner, scoringSettings, after)
    await inner.flush()
    wakeAfterCommit(inner)
  })
  return settingsState(context)
}

function describeChanges(before: ScoringSettings, after: ScoringSettings): string[] {
  const words: Record<keyof ScoringSettings, (settings: ScoringSettings) => string> = {
    scoringEnabled: ({ scoringEnabled }) => `scoring ${onOff(scoringEnabled)}`,
    docsEnabled: ({ docsEnabled }) => `documentation ${onOff(docsEnabled)}`,
    concurrency: ({ concurrency }) => `${concurrency} at once`,
    timeoutSeconds: ({ timeoutSeconds }) => `${timeoutSeconds} seconds each`,
  }
  return Object.values(words).flatMap((describe) => (describe(before) === describe(after) ? [] : describe(after)))
}

const onOff = (isOn: boolean) => (isOn ? 'on' : 'off')

/** Returns the default Dart SDK, else the default Flutter SDK, or null. */
export const defaultSdk = (em: EntityManager): Promise<SdkInstall | null> =>
  em.findOne(SdkInstall, { isDefault: true }, { orderBy: { kind: 'asc' } })

/** Counts all versions, and the versions that have a report with checks. */
export async function countCoverage({ database }: Pick<Context, 'database'>): Promise<{ versions: number; scored: number }> {
  const row = await database.reads.get(coverage)
  return { versions: row?.versions ?? 0, scored: row?.scored ?? 0 }
}

const coverage = db.selectNoFrom((eb) => [
  eb
    .selectFrom('package_totals')
    .select(({ fn }) => fn.sum<number | null>('versions').as('versions'))
    .as('versions'),
  eb
    .selectFrom('score_reports')
    .select(({ fn }) => fn.countAll<number>().as('scored'))
    .where('checks_percent', 'is not', null)
    .as('scored'),
])

/** Counts the running and the queued analyses on all instances. */
export async function countWork({ database }: Pick<Context, 'database'>): Promise<{ active: number; queued: number }> {
  const rows = await database.reads.all(work)
  const count = (wanted: string) => rows.find(({ state }) => state === wanted)?.total ?? 0
  return { active: count('running'), queued: count('queued') }
}

const work = db
  .selectFrom('jobs')
  .select(({ fn }) => ['state', fn.countAll<number>().as('total')])
  .where('kind', 'in', [analysisKind, panaKind])
  .where('state', 'in', ['queued', 'running'])
  .groupBy('state')

type LogFilter = { level?: LogLevel | null | undefined; package?: string | null | undefined }

/** Returns the scoring log as a connection, newest entries first by default. */
export const listLog = (em: EntityManager, { level, package: name }: LogFilter, page: DirectedPage) =>
  newestFirst(em, ScoringLogEntry, { ...(level && { level }), ...(name && { package: name }) }, page)

/** Clears the scoring log. The audit log records by whom. */
export function clearLog({ em, viewer, ip }: SignedInContext): Promise<void> {
  return em.fork().transactional(async (inner) => {
    await inner.nativeDelete(ScoringLogEntry, {})
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary: 'Cleared the scoring log', ip })
  })
}
