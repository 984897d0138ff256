import { audit } from '../../../accounts/audit/service.ts'
import { conflict, invalidInput, notFound } from '../../../errors.ts'
import type { Context, SignedInContext } from '../../../platform/access/context.ts'
import { newId } from '../../../platform/db/base.ts'
import { lockSetting, readSetting, writeSetting } from '../../../platform/settings/service.ts'
import {
  describeSelector,
  type Exemption,
  isInEffect,
  type MirrorPolicies,
  mirrorPolicies,
  type PolicyRule,
  policyRules,
  type Selector,
} from './settings.ts'

/** @throws ApiError NotFound if this server does not mirror another one. */
export function requireUpstream({ config }: Pick<Context, 'config'>): void {
  if (config.UPSTREAM_URL === undefined) throw mirrorIsOff()
}

export const mirrorIsOff = () => notFound('This server does not mirror another package server. Set UPSTREAM_URL and restart it.')

/** Returns the policies of the mirror; null if this server does not mirror another one. */
export const readPolicies = ({ config, database }: Pick<Context, 'config' | 'database'>): Promise<MirrorPolicies> | null =>
  config.UPSTREAM_URL === undefined ? null : readSetting(database.reads, mirrorPolicies)

/** New policies by rule; rules that are left out do not change. `revision` is that of the policies on which the change is based. */
export type PoliciesChange = { [Rule in PolicyRule]?: MirrorPolicies[Rule] | null | undefined } & { revision?: number | null | undefined }

/**
 * Replaces the policies of the given rules. Requires a server admin. Setting the current policies again has no effect.
 * @throws ApiError NotFound if this server does not mirror another one; Conflict if `revision` is given and not the current one.
 */
export async function updatePolicies(context: SignedInContext, { revision, ...change }: PoliciesChange): Promise<MirrorPolicies> {
  const { em, viewer, ip } = context
  requireUpstream(context)
  return em.fork().transactional(async (inner) => {
    const before = await lockSetting(inner, mirrorPolicies)
    if (revision != null && revision !== before.revision)
      throw conflict('The policies were changed in the meantime. Reload them, then make your change again.')
    const after = { ...before, ...normalized(change), revision: before.revision + 1 }
    const changes = policyRules.flatMap((rule) => describeChanges(before, after, rule))
    if (changes.length === 0) return before
    const summary = `${viewer.displayName} changed the policies of the mirror: ${changes.join('; ')}`
    audit(inner, { actor: viewer, ip, kind: 'server.mirror_policies_updated', summary })
    await writeSetting(inner, mirrorPolicies, after)
    return after
  })
}

/** Removes duplicates from lists. Names, licenses and publishers are compared in lower case. */
function normalized({ minimumAge, packages, advisories, licenses }: PoliciesChange): Partial<MirrorPolicies> {
  const lower = (texts: readonly string[]) => [...new Set(texts.map((text) => text.toLowerCase()))]
  return {
    ...(minimumAge && { minimumAge: { ...minimumAge, exempt: lower(minimumAge.exempt) } }),
    ...(packages && { packages: { ...packages, allow: distinct(packages.allow), deny: distinct(packages.deny) } }),
    ...(advisories && { advisories }),
    ...(licenses && { licenses: { ...licenses, allow: lower(licenses.allow), deny: lower(licenses.deny) } }),
  }
}

function distinct(selectors: readonly Selector[]): Selector[] {
  const all = selectors.map((one) => ({
    ...one,
    name: one.name?.toLowerCase() ?? null,
    publisher: one.publisher?.toLowerCase() ?? null,
  }))
  return [...new Map(all.map((one) => [describeSelector(one), one])).values()]
}

/** Settings of each rule, in the order in which changes are described. Each is a phrase or a list of entries. */
const described: Record<PolicyRule, (policies: MirrorPolicies) => Record<string, string | readonly string[]>> = {
  packages: ({ packages: { mode, allow, deny } }) => ({ mode, allowed: allow.map(describeSelector), denied: deny.map(describeSelector) }),
  advisories: ({ advisories: { mode, severity, unknownAs } }) => ({
    mode,
    severity: `from ${severity}`,
    unknown: `unknown severity as ${unknownAs}`,
  }),
  licenses: ({ licenses: { mode, allow, deny } }) => ({ mode, allowed: allow, denied: deny }),
  minimumAge: ({ minimumAge: { mode, days, hide, exempt, exemptFixes } }) => ({
    mode,
    days: days === 1 ? '1 day' : `${days} days`,
    hide: hide ? 'hide younger versions' : 'retract younger versions',
    exempt,
    fixes: exemptFixes ? 'fixes of advisories exempt' : 'fixes of advisories not exempt',
  }),
}

const titles: Record<PolicyRule, string> = {
  packages: 'packages',
  advisories: 'advisories',
  licenses: 'licenses',
  minimumAge: 'minimum age',
}

/** Describes how a rule changes, such as `packages: enforce, denied added evil_*`; nothing if it does not. */
function describeChanges(before: MirrorPolicies, after: MirrorPolicies, rule: PolicyRule): string[] {
  const [old, current] = [described[rule](before), described[rule](after)]
  const changes = Object.entries(current).flatMap(([part, value]) => {
    const former = old[part] ?? ''
    if (typeof value === 'string' || typeof former === 'string') return value === former ? [] : [String(value)]
    return [...listed(`${part} added`, value, former), ...listed(`${part} removed`, former, value)]
  })
  return changes.length > 0 ? [`${titles[rule]}: ${changes.join(', ')}`] : []
}

const shownEntries = 5

/** Lists the first entries that are not among `others`. */
function listed(what: string, entries: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others)
  const added = entries.filter((entry) => !known.has(entry))
  if (added.length === 0) return []
  const more = added.length > shownEntries ? [`and ${added.length - shownEntries} more`] : []
  return [`${what} ${[...added.slice(0, shownEntries), ...more].join(', ')}`]
}

/** What to exempt from a rule, why, and until when; without a version, the whole package, and without a time, until it is removed. */
export type NewExemption = Pick<Exemption, 'rule' | 'name' | 'reason'> & {
  version?: string | null | undefined
  until?: Date | null | undefined
}

const maxExemptions = 200

/**
 * Exempts a package or a version from a rule of the policies, in place of an earlier exemption of the same. Requires a server admin.
 * @throws ApiError NotFound if this server does not mirror another one; InvalidInput if `until` is not in the future; Conflict at 200 exemptions.
 */
export async function addExemption(
  context: SignedInContext,
  { rule, name, reason, version = null, until }: NewExemption,
): Promise<Exemption> {
  const { viewer, now } = context
  const at = now()
  if (until && until <= at) throw invalidInput('until: must be in the future.', 'until')
  const ending = until?.toISOString() ?? null
  const added = { id: newId(), rule, name, version, reason, until: ending, createdAt: at.toISOString(), userId: viewer.id }
  const what = `${describeExempted(added)} from the policy "${titles[rule]}" ${ending === null ? 'without an end' : `until ${ending.slice(0, 10)}`}`
  await changeExemptions(context, 'server.mirror_exemption_added', (exemptions) => {
    const others = exemptions.filter((one) => isInEffect(one, at) && !(one.rule === rule && one.name === name && one.version === version))
    if (others.length >= maxExemptions) throw conflict(`The mirror has ${maxExemptions} exemptions, the maximum. Remove some first.`)
    return { exemptions: [added, ...others], summary: `exempted ${what}: ${reason}` }
  })
  return added
}

/** Removes an exemption. Requires a server admin. @throws ApiError NotFound */
export async function removeExemption(context: SignedInContext, id: string): Promise<void> {
  await changeExemptions(context, 'server.mirror_exemption_removed', (exemptions) => {
    const found = exemptions.find((one) => one.id === id)
    if (!found) throw notFound('The mirror has no such exemption.')
    const summary = `removed the exemption of ${describeExempted(found)} from the policy "${titles[found.rule]}"`
    return { exemptions: exemptions.filter((one) => one !== found), summary }
  })
}

const describeExempted = ({ name, version }: Exemption): string => `${name}${version === null ? '' : ` ${version}`}`

type ExemptionEvent = 'server.mirror_exemption_added' | 'server.mirror_exemption_removed'
type ExemptionsChange = { exemptions: Exemption[]; summary: string }

async function changeExemptions(context: SignedInContext, kind: ExemptionEvent, change: (exemptions: Exemption[]) => ExemptionsChange) {
  const { em, viewer, ip } = context
  requireUpstream(context)
  await em.fork().transactional(async (inner) => {
    const policies = await lockSetting(inner, mirrorPolicies)
    const { exemptions, summary } = change(policies.exemptions)
    audit(inner, { actor: viewer, ip, kind, summary: `${viewer.displayName} ${summary}` })
    await writeSetting(inner, mirrorPolicies, { ...policies, exemptions })
  })
}
