import { z } from 'zod'
import { countAdminsWithoutFactor } from '../../accounts/factors/factors.ts'
import { audit } from '../../accounts/audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { lockSetting, readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { readSchedule } from '../backup/schedule/state.ts'

/** The steps after the setup, in order, with descriptions. */
export const checklistSteps = {
  token: 'Create an access token.',
  package: 'Publish the first package.',
  backups: 'Set up automatic backups. Done after the first complete backup.',
  sdk: 'Install a Dart or Flutter SDK.',
  people: 'Invite other people.',
  https: 'Serve the registry over HTTPS.',
  second_factor: 'Give each administrator with a password a second factor. Optional.',
  sign_in: 'Add a sign-in provider. Optional.',
  mirror: 'Mirror another package server, such as pub.dev. Optional.',
  trusted_publishing: 'Allow a CI system to publish without a stored secret. Optional.',
} as const satisfies Record<string, string>
export type ChecklistStepName = keyof typeof checklistSteps
export type ChecklistStep = { name: ChecklistStepName; isDone: boolean; isOptional: boolean }

const optionalSteps: readonly string[] = ['second_factor', 'sign_in', 'mirror', 'trusted_publishing'] satisfies ChecklistStepName[]
export type Checklist = { isHidden: boolean }

const setting: Setting<Checklist> = { key: 'setup.checklist', schema: z.object({ isHidden: z.boolean() }), initial: { isHidden: false } }

/** Returns whether an administrator has hidden the checklist. */
export const readChecklist = ({ database }: Pick<Context, 'database'>): Promise<Checklist> => readSetting(database.reads, setting)

/** Returns the steps with their current state. */
export async function stepsOf({ database, config, now }: Pick<Context, 'database' | 'config' | 'now'>): Promise<ChecklistStep[]> {
  const [known, schedule, lacking] = await Promise.all([
    database.reads.get(facts),
    readSchedule(config, database.reads, now()),
    database.reads.get(countAdminsWithoutFactor(config)),
  ])
  const done: Record<ChecklistStepName, boolean> = {
    token: Boolean(known?.token),
    package: Boolean(known?.package),
    backups: Boolean(schedule?.lastSuccess),
    sdk: Boolean(known?.sdk),
    people: Boolean(known?.people),
    https: config.SERVER_URL.startsWith('https:'),
    second_factor: lacking?.total === 0,
    sign_in: config.oidcProviders.length > 0 || Boolean(known?.provider),
    mirror: config.UPSTREAM_URL !== undefined,
    trusted_publishing: Boolean(known?.trusted_publisher),
  }
  return Object.entries(done).map(([name, isDone]) => ({
    name: name as ChecklistStepName,
    isDone,
    isOptional: optionalSteps.includes(name),
  }))
}

const facts = prepared(() =>
  db.selectNoFrom(({ exists, selectFrom }) => [
    exists(selectFrom('access_tokens').select('id').where('revoked_at', 'is', null)).as('token'),
    exists(selectFrom('packages').select('id')).as('package'),
    exists(selectFrom('sdk_installs').select('id').where('status', '=', 'ready')).as('sdk'),
    exists(selectFrom('users').select('id').where('role', '<>', 'owner').where('kind', '=', 'person')).as('people'),
    exists(selectFrom('oidc_providers').select('name')).as('provider'),
    exists(selectFrom('trusted_publishers').select('id')).as('trusted_publisher'),
  ]),
)

/** Hides the checklist from all administrators, or shows it again. Setting the current value again has no effect. */
export async function updateChecklist({ em, viewer, ip }: SignedInContext, wanted: Checklist): Promise<Checklist> {
  await em.fork().transactional(async (inner) => {
    if ((await lockSetting(inner, setting)).isHidden === wanted.isHidden) return
    const summary = `${viewer.displayName} ${wanted.isHidden ? 'hid the setup checklist' : 'showed the setup checklist again'}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, ip })
    await writeSetting(inner, setting, wanted)
  })
  return wanted
}
