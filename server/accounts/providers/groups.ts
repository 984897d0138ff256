import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { type Role, roles } from '../../platform/access/roles.ts'
import { loadSetting, lockSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { audit } from '../audit/service.ts'

export const publisherRoles = ['member', 'admin'] as const
export type PublisherRole = (typeof publisherRoles)[number]
export const mappedRoles = ['viewer', 'member', 'admin'] as const
type MappedRole = (typeof mappedRoles)[number]

/** What the members of a group of a provider get: a role on this server, a role in a publisher, or both. */
export type GroupRule = { group: string; role: MappedRole | null; publisher: string | null; publisherRole: PublisherRole | null }

const schema = z.object({
  providers: z.record(
    z.string(),
    z.array(
      z.object({
        group: z.string(),
        role: z.enum(mappedRoles).nullable(),
        publisher: z.string().nullable(),
        publisherRole: z.enum(publisherRoles).nullable(),
      }),
    ),
  ),
})

/** The rules of all providers, by the name of the provider. Groups of two providers may have the same name. */
const groupRules: Setting<z.infer<typeof schema>> = { key: 'oidc_groups', schema, initial: { providers: {} } }

/** Returns the rules for the groups of a provider. */
export const readGroupRules = async (request: { em: EntityManager }, provider: string): Promise<GroupRule[]> =>
  (await loadSetting(request, groupRules)).providers[provider] ?? []

/**
 * Replaces the rules for the groups of a provider. They apply at the next sign-in of each user.
 * @throws ApiError InsufficientPermissions for a session without a recent proof.
 */
export async function writeGroupRules(context: SignedInContext, provider: string, rules: GroupRule[]): Promise<void> {
  const { em, viewer, ip } = context
  requireRecentProof(context)
  await em.fork().transactional(async (inner) => {
    const { providers } = await lockSetting(inner, groupRules)
    await writeSetting(inner, groupRules, { providers: { ...providers, [provider]: rules } })
    const described = rules.map(({ group, role, publisher, publisherRole }) =>
      [group, role ?? '', publisher ? `${publisherRole ?? 'member'} of ${publisher}` : ''].filter(Boolean).join(' → '),
    )
    const summary = `${viewer.displayName} changed the group rules of the sign-in provider ${provider}: ${described.join('; ') || 'none'}`
    audit(inner, { kind: 'provider.updated', actor: viewer, summary, ip })
  })
}

/** Deletes the rules of a provider, in the transaction of `em`. */
export async function deleteGroupRules(em: EntityManager, provider: string): Promise<void> {
  const { providers } = await lockSetting(em, groupRules)
  if (!(provider in providers)) return
  const { [provider]: _deleted, ...others } = providers
  await writeSetting(em, groupRules, { providers: others })
}

/** The groups of a user; `isIncomplete` if the provider left them out because there are too many. Null if the provider has no groups claim. */
export type Groups = { names: string[]; isIncomplete: boolean } | null

/** Reads the groups from the claims. A claim is found by its name, or by a path with dots such as `realm_access.roles`. */
export function readGroups(claims: Record<string, unknown>, claim: string | null): Groups {
  if (claim === null) return null
  const value = claim in claims ? claims[claim] : valueAt(claims, claim.split('.'))
  const names = (Array.isArray(value) ? value : [value]).filter((name): name is string => typeof name === 'string' && name !== '')
  // Microsoft Entra ID replaces the claim by a reference beyond 200 groups.
  const isReferred = typeof claims._claim_names === 'object' && claims._claim_names !== null && claim in claims._claim_names
  return { names, isIncomplete: value === undefined && (isReferred || claims.hasgroups === true || claims.hasgroups === 'true') }
}

const valueAt = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>((at, part) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined), value)

/** What groups give: a role, or null if no rule gives one, and a role in each publisher. */
export type Mapping = { role: MappedRole | null; memberships: Map<string, PublisherRole> }

/** Applies the rules to groups. Null if the groups are unknown, so that nothing changes. */
export function mapGroups(groups: Groups, rules: readonly GroupRule[]): Mapping | null {
  if (groups === null || groups.isIncomplete) return null
  const applied = rules.filter(({ group }) => groups.names.includes(group))
  const memberships = new Map<string, PublisherRole>()
  for (const { publisher, publisherRole } of applied)
    if (publisher !== null)
      memberships.set(publisher, higher(publisherRoles, memberships.get(publisher) ?? 'member', publisherRole ?? 'member'))
  return { role: highestRole(applied.map(({ role }) => role)), memberships }
}

const grantsSchema = z.object({ role: z.enum(mappedRoles).nullable(), memberships: z.record(z.string(), z.enum(publisherRoles)) })

/** Returns the columns of an identity that keep what its groups give. */
export const writeGrants = (provider: string, { role, memberships }: Mapping) => ({
  grantedBy: provider,
  grants: JSON.stringify({ role, memberships: Object.fromEntries(memberships) } satisfies z.infer<typeof grantsSchema>),
})

/** Merges what several identities give: the highest role, and the highest role in each publisher. */
export function mergeGrants(grants: readonly string[]): Mapping {
  const memberships = new Map<string, PublisherRole>()
  const given = grants.map((text) => grantsSchema.parse(JSON.parse(text)))
  for (const [publisher, one] of given.flatMap((all) => Object.entries(all.memberships)))
    memberships.set(publisher, higher(publisherRoles, memberships.get(publisher) ?? 'member', one))
  return { role: highestRole(given.map(({ role }) => role)), memberships }
}

/** Returns the highest of these roles; null without any. */
export const highestRole = <Value extends Role>(given: readonly (Value | null)[]): Value | null =>
  given.reduce<Value | null>((best, one) => (best === null || one === null ? (best ?? one) : higher(roles, best, one)), null)

const higher = <Order extends string, Value extends Order>(order: readonly Order[], one: Value, other: Value): Value =>
  order.indexOf(other) > order.indexOf(one) ? other : one

export type MembershipSync = (
  em: EntityManager,
  user: { id: string; displayName: string },
  memberships: ReadonlyMap<string, PublisherRole>,
  at: { ip: string; now: Date },
) => Promise<void>

declare module '../../services.ts' {
  interface Services {
    /** Gives a user the memberships in publishers that groups give, and takes them again once they no longer do. Registered by open-services.ts. */
    syncMemberships: MembershipSync
  }
}
