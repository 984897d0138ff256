import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../access/context.ts'
import { insufficientPermissions } from '../errors.ts'
import { wakeAfterCommit } from '../jobs/wake.ts'
import { lockSetting, writeSetting } from '../settings/service.ts'
import { analysisKind, panaKind } from './requests.ts'
import { currentSettings, isScoringOn, type ScoringSettings, scoringSettings, scoringSwitch } from './settings.ts'

/** Whether and how versions are analyzed on this server, and whether its environment permits it at all. */
export type SettingsState = ScoringSettings & { scoringEnabled: boolean; permittedByEnvironment: boolean }

export async function settingsState(context: Pick<Context, 'config' | 'database'>): Promise<SettingsState> {
  const scoringEnabled = await isScoringOn(context)
  return { ...(await currentSettings(context)), scoringEnabled, permittedByEnvironment: context.config.SCORING_ENABLED }
}

type Settings = ScoringSettings & { scoringEnabled: boolean }
export type SettingsChange = { [Name in keyof Settings]?: Settings[Name] | null | undefined }

/**
 * Changes the settings that are given. What waits stays in the queue while scoring is off.
 * @throws ApiError InsufficientPermissions when the environment does not permit scoring.
 */
export async function updateSettings(context: SignedInContext, change: SettingsChange): Promise<SettingsState> {
  const { config, em, viewer, ip } = context
  if (change.scoringEnabled && !config.SCORING_ENABLED)
    throw insufficientPermissions('The environment of this server does not permit scoring. Set SCORING_ENABLED=true and restart it.')
  await em.fork().transactional(async (inner) => {
    const before = { ...(await lockSetting(inner, scoringSettings)), scoringEnabled: await lockSetting(inner, scoringSwitch) }
    const after = { ...before, ...Object.fromEntries(Object.entries(change).filter(([, value]) => value != null)) }
    const changes = describeChanges(before, after)
    if (changes.length === 0) return
    const summary = `${viewer.displayName} changed the scoring settings: ${changes.join(', ')}`
    audit(inner, { actor: viewer, ip, kind: 'server.settings_updated', summary })
    const { scoringEnabled, ...settings } = after
    await writeSetting(inner, scoringSwitch, scoringEnabled)
    await writeSetting(inner, scoringSettings, settings)
    await inner.flush()
    wakeAfterCommit(inner)
  })
  return settingsState(context)
}

function describeChanges(before: Settings, after: Settings): string[] {
  const words: Record<keyof Settings, (settings: Settings) => string> = {
    scoringEnabled: ({ scoringEnabled }) => `scoring ${onOff(scoringEnabled)}`,
    docsEnabled: ({ docsEnabled }) => `documentation ${onOff(docsEnabled)}`,
    concurrency: ({ concurrency }) => `${concurrency} at once`,
    timeoutSeconds: ({ timeoutSeconds }) => `${timeoutSeconds} seconds each`,
  }
  return Object.values(words).flatMap((say) => (say(before) === say(after) ? [] : say(after)))
}

const onOff = (isOn: boolean) => (isOn ? 'on' : 'off')

/** How many versions there are, and how many of them have a report. */
export async function countCoverage({ database }: Pick<Context, 'database'>): Promise<{ versions: number; scored: number }> {
  const row = await database.reads.get<{ versions: number | string; scored: number | string }>(
    'select (select count(*) from package_versions) as versions, (select count(*) from score_reports where granted is not null) as scored',
  )
  return { versions: Number(row?.versions ?? 0), scored: Number(row?.scored ?? 0) }
}

/** How many analyses run, on all instances, and how many wait. */
export async function countWork({ database }: Pick<Context, 'database'>): Promise<{ active: number; queued: number }> {
  const rows = await database.reads.all<{ state: string; total: number | string }>(
    `select state, count(*) as total from jobs where kind in ('${analysisKind}', '${panaKind}') and state in ('queued', 'running') group by state`,
  )
  const count = (wanted: string) => Number(rows.find(({ state }) => state === wanted)?.total ?? 0)
  return { active: count('running'), queued: count('queued') }
}
