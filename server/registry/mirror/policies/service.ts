import { audit } from '../../../accounts/audit/service.ts'
import { conflict, notFound } from '../../../errors.ts'
import type { Context, SignedInContext } from '../../../platform/access/context.ts'
import { lockSetting, readSetting, writeSetting } from '../../../platform/settings/service.ts'
import { describeSelector, type MirrorPolicies, mirrorPolicies, type PolicyRule, policyRules, type Selector } from './settings.ts'

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
